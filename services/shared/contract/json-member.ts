const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENERS: ReadonlySet<number> = new Set([0x7b, 0x5b]);
const CLOSERS: ReadonlySet<number> = new Set([0x7d, 0x5d]);
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/**
 * The bytes of one member's value in a JSON object, exactly as they were sent: `1.0` stays `1.0`, a long number keeps its digits,
 * spaces inside stay. Of a repeated member the last one counts, as in `JSON.parse`.
 *
 * @param json bytes that `JSON.parse` has accepted as an object; for other bytes the result has no meaning
 * @returns undefined when there is no such member
 */
export function memberBytes(json: Buffer, member: string): Buffer | undefined {
  let found: Buffer | undefined;
  let at = skipSpaces(json, 0) + 1;
  while (at < json.length) {
    at = skipSpaces(json, at);
    if (json[at] !== QUOTE) return found;
    const nameEnd = stringEnd(json, at);
    const name: unknown = JSON.parse(json.toString('utf8', at, nameEnd));
    at = skipSpaces(json, nameEnd);
    if (json[at] !== COLON) return found;
    const start = skipSpaces(json, at + 1);
    const end = valueEnd(json, start);
    if (name === member) found = json.subarray(start, trimEnd(json, start, end));
    at = end + 1;
  }
  return found;
}

/** Index of the comma or bracket that follows the value at `start`. */
function valueEnd(json: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) at = stringEnd(json, at) - 1;
    else if (OPENERS.has(byte)) depth += 1;
    else if (depth === 0 && (byte === COMMA || CLOSERS.has(byte))) return at;
    else if (CLOSERS.has(byte)) depth -= 1;
  }
  return json.length;
}

/** Index after the closing quote of the string at `start`. */
function stringEnd(json: Buffer, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

function skipSpaces(json: Buffer, start: number): number {
  let at = start;
  while (SPACES.has(json[at] ?? 0)) at += 1;
  return at;
}

function trimEnd(json: Buffer, start: number, end: number): number {
  let at = end;
  while (at > start && SPACES.has(json[at - 1] ?? 0)) at -= 1;
  return at;
}
