import { readFileSync } from 'node:fs';
import { Script } from '#shared/platform/redis/redis.ts';

function lua(name: string): string {
  return readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8');
}

const PRELUDE = lua('prelude');
const DIALOG = lua('dialog');
// A full Redis must still drain: what takes work out of the queue and applies it is allowed to use memory, only new work is refused.
const DRAINS = '#!lua flags=allow-oom\n';

/** Scripts over the queue and leases: arguments base, epoch, then their own. */
export const QUEUE_SCRIPTS = {
  enqueue: new Script(`#!lua\n${lua('enqueue')}`),
  busy: new Script(DRAINS + lua('busy')),
  epoch: new Script(`${DRAINS}${lua('epoch')}`),
  acquire: new Script(DRAINS + PRELUDE + lua('acquire')),
  renew: new Script(DRAINS + PRELUDE + lua('renew')),
  take: new Script(DRAINS + PRELUDE + lua('take')),
  remove: new Script(DRAINS + PRELUDE + lua('remove')),
} as const;

/** Scripts over the lists of one tenant: arguments base, epoch, prefix, then their own. */
export const DIALOG_SCRIPTS = {
  effect: new Script(DRAINS + PRELUDE + DIALOG + lua('effect')),
  handed: new Script(DRAINS + PRELUDE + DIALOG + lua('handed')),
  rebuild: new Script(DRAINS + PRELUDE + DIALOG + lua('rebuild')),
  readPosition: new Script(DRAINS + PRELUDE + DIALOG + lua('read-position')),
  readApply: new Script(DRAINS + PRELUDE + DIALOG + lua('read-apply')),
  sync: new Script(DRAINS + PRELUDE + DIALOG + lua('sync')),
} as const;
