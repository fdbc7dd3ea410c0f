/** Names what a test run left open: sockets, servers, timers, child processes. They would keep the process from ending. */
import { Server, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** How long closed things may take to be gone. */
const GRACE_MS = 3_000;
const CHECK_EVERY_MS = 50;

/** Kinds of open things that keep a process alive, with how many there are. */
export type Handles = ReadonlyMap<string, number>;

export function countHandles(): Handles {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** One line for each kind of which there are more than before; none when all is closed within the grace time. */
export async function describeLeaks(before: Handles): Promise<readonly string[]> {
  const deadline = performance.now() + GRACE_MS;
  for (;;) {
    const leaks = leaksSince(before, countHandles());
    if (leaks.length === 0) return [];
    if (performance.now() > deadline) return [...leaks, ...openSockets()];
    await pause(CHECK_EVERY_MS);
  }
}

function leaksSince(before: Handles, now: Handles): readonly string[] {
  return [...now].flatMap(([kind, count]) => {
    const more = count - (before.get(kind) ?? 0);
    return more > 0 ? [`${more} x ${kind}`] : [];
  });
}

/** Where sockets lead is what finds the test; Node tells it only by this old door. */
function openSockets(): readonly string[] {
  const { _getActiveHandles: activeHandles } = process as unknown as { _getActiveHandles?: () => readonly unknown[] };
  const handles = activeHandles?.call(process) ?? [];
  return handles.flatMap((handle) => {
    if (handle instanceof Server) return [`server on ${JSON.stringify(handle.address())}`];
    if (handle instanceof Socket && handle.remotePort !== undefined)
      return [`socket to ${handle.remoteAddress ?? ''}:${handle.remotePort}`];
    return [];
  });
}
