/**
 * Works on `items` with one lane per key: those of one key strictly in order, at most `width` keys at a time. A lane stops at its first
 * item whose work gives false; the other lanes go on. Never rejects when `work` does not.
 */
export async function runLanes<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  width: number,
  work: (item: T) => Promise<boolean>,
): Promise<void> {
  const waiting = [...Map.groupBy(items, keyOf).values()];
  const worker = async (): Promise<void> => {
    for (let lane = waiting.shift(); lane !== undefined; lane = waiting.shift()) {
      for (const item of lane) {
        if (!(await work(item))) break;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, waiting.length) }, worker));
}
