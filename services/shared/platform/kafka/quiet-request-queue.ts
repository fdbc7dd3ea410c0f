import { createRequire } from 'node:module';

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
}

let isQuiet = false;

/**
 * kafkajs 2.2.4 re-arms the check of its waiting requests for ever, each time with a negative delay: about 800 timers a second on an
 * idle connection, and a TimeoutNegativeWarning. The check has nothing to do while nothing waits (a request that must wait asks for it
 * itself), so then it is not armed. @see https://github.com/tulios/kafkajs/issues/1751
 *
 * @returns false when kafkajs no longer has that method; then nothing was changed
 */
export function quietRequestQueue(): boolean {
  if (isQuiet) return true;
  const load = createRequire(import.meta.url) as (id: string) => unknown;
  const { prototype } = load('kafkajs/src/network/requestQueue') as { prototype?: RequestQueue };
  const original = prototype?.scheduleCheckPendingRequests;
  if (prototype === undefined || typeof original !== 'function') return false;
  prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) original.call(this);
  };
  isQuiet = true;
  return true;
}
