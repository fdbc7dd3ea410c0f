import { setTimeout as pause } from 'node:timers/promises';
import { isPortTaken, portHolder } from '#scripts/servers/port-holder.ts';
import { CommandError } from './command.ts';

const LEFTOVER_MS = 5_000;

/** @param wasCutShort a supervisor was killed: what it had started may still be ending. @throws {CommandError} 3 before anything is made */
export async function checkPort(port: number, wasCutShort: boolean): Promise<void> {
  const deadline = performance.now() + LEFTOVER_MS;
  while (await isPortTaken(port)) {
    if (!wasCutShort || performance.now() > deadline) break;
    await pause(200);
  }
  if (!(await isPortTaken(port))) return;
  const holder = (await portHolder(port)) ?? 'a process that cannot be seen from here';
  throw new CommandError(3, `port ${port} is taken by ${holder}; free it or set another port in the settings file`);
}
