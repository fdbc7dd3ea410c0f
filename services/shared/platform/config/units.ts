const DURATION = /^(0|[1-9][0-9]*)(ms|s|m|h|d)$/;
const DURATION_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const BYTES = /^(0|[1-9][0-9]*)(B|KiB|MiB|GiB)$/;
const BYTE_UNITS: Readonly<Record<string, number>> = { B: 1, KiB: 1_024, MiB: 1_048_576, GiB: 1_073_741_824 };

/** `120s` -> 120000; undefined when it is not a number directly followed by ms, s, m, h or d. */
export function parseDuration(text: string): number | undefined {
  return parse(text, DURATION, DURATION_UNITS);
}

/** `64KiB` -> 65536; undefined when it is not a number directly followed by B, KiB, MiB or GiB. */
export function parseBytes(text: string): number | undefined {
  return parse(text, BYTES, BYTE_UNITS);
}

/** The shortest exact form: 131072 -> `128KiB`, 1000 -> `1000`. */
export function showBytes(count: number): string {
  const unit = ['GiB', 'MiB', 'KiB'].find((name) => count >= (BYTE_UNITS[name] ?? 1) && count % (BYTE_UNITS[name] ?? 1) === 0);
  return unit === undefined ? count.toString() : `${count / (BYTE_UNITS[unit] ?? 1)}${unit}`;
}

function parse(text: string, form: RegExp, units: Readonly<Record<string, number>>): number | undefined {
  const found = form.exec(text);
  const value = Number(found?.[1]) * (units[found?.[2] ?? ''] ?? Number.NaN);
  return Number.isSafeInteger(value) ? value : undefined;
}
