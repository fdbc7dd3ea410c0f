/**
 * Reads a figure at most once in `ttlMs`, whoever looks at it how often: metrics, readiness and the supervisor ask every second, and the
 * answer may cost the database something. A failure is not remembered.
 */
export function remember<T>(read: () => Promise<T>, ttlMs = 5_000, nowMs: () => number = () => performance.now()): () => Promise<T> {
  let last: { readonly value: Promise<T>; readonly atMs: number } | undefined;
  return () => {
    if (last !== undefined && nowMs() - last.atMs < ttlMs) return last.value;
    const value = read();
    const mine = { value, atMs: nowMs() };
    last = mine;
    value.catch(() => {
      if (last === mine) last = undefined;
    });
    return value;
  };
}
