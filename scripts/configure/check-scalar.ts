import { isAlias, isMap, isScalar, isSeq } from 'yaml';
import type { Node, Scalar } from 'yaml';
import type { Section, Setting } from '#shared/platform/config/setting.ts';
import { parseBytes, parseDuration, showBytes } from '#shared/platform/config/units.ts';
import { didYouMean } from './did-you-mean.ts';

/** A value as it is rendered, or what is wrong with it. */
export type Checked = { readonly value: unknown } | { readonly problem: string };

export type ScalarSetting = Extract<Setting, { kind: 'boolean' | 'integer' | 'bytes' | 'duration' | 'text' | 'choice' }>;

const SCALARS: readonly string[] = ['boolean', 'integer', 'bytes', 'duration', 'text', 'choice'] satisfies ScalarSetting['kind'][];

export function isScalarSetting(node: Setting | Section): node is ScalarSetting {
  return typeof node['kind'] === 'string' && SCALARS.includes(node['kind']);
}

/** Exact types: nothing is converted that a reader could take for something else. */
export function checkScalar(setting: ScalarSetting, node: Node | null): Checked {
  if (!isScalar(node) || node.value === null)
    return { problem: `must be ${expectation(setting)}, got ${describe(node, isSecret(setting))}` };
  switch (setting.kind) {
    case 'boolean':
      return checkBoolean(node);
    case 'integer':
      return inRange(setting, plainInteger(node), node, String);
    case 'bytes':
      return inRange(setting, plainInteger(node) ?? fromText(node, parseBytes), node, showBytes);
    case 'duration':
      return checkDuration(setting, node);
    case 'text':
      return checkText(setting, node);
    case 'choice':
      return checkChoice(setting, node);
  }
}

function checkBoolean(node: Scalar): Checked {
  if (typeof node.value === 'boolean' && (node.source === 'true' || node.source === 'false')) return { value: node.value };
  const looksFalse = ['no', 'off', 'n', '0', 'false', ''].includes((node.source ?? '').toLowerCase());
  return { problem: `must be true or false, got ${describe(node, false)} (YAML 1.2: write ${looksFalse ? 'false' : 'true'})` };
}

function plainInteger(node: Scalar): number | undefined {
  const isPlain = typeof node.value === 'number' && /^-?(?:0|[1-9][0-9]*)$/.test(node.source ?? '');
  return isPlain && Number.isSafeInteger(node.value) ? Number(node.value) : undefined;
}

function fromText(node: Scalar, parse: (text: string) => number | undefined): number | undefined {
  return typeof node.value === 'string' ? parse(node.value) : undefined;
}

type Ranged = Extract<ScalarSetting, { kind: 'integer' | 'bytes' }>;

function inRange(setting: Ranged, value: number | undefined, node: Scalar, show: (value: number) => string): Checked {
  if (value === undefined) return { problem: `must be ${expectation(setting)}, got ${describe(node, false)}` };
  if (value >= setting.min && value <= setting.max) return { value };
  return { problem: `must be from ${show(setting.min)} to ${show(setting.max)}, got ${describe(node, false)}` };
}

function checkDuration(setting: Extract<ScalarSetting, { kind: 'duration' }>, node: Scalar): Checked {
  const value = fromText(node, parseDuration);
  if (value === undefined) {
    const hint = plainInteger(node) === undefined ? '' : ` (write ${String(node.value)}s for seconds)`;
    return { problem: `must be ${expectation(setting)}, got ${describe(node, false)}${hint}` };
  }
  const [min = 0, max = 0] = [parseDuration(setting.min), parseDuration(setting.max)];
  return value >= min && value <= max
    ? { value }
    : { problem: `must be from ${setting.min} to ${setting.max}, got ${describe(node, false)}` };
}

function checkText(setting: Extract<ScalarSetting, { kind: 'text' }>, node: Scalar): Checked {
  const { value } = node;
  if (typeof value === 'string' && value !== '' && (setting.form?.pattern.test(value) ?? true)) return { value };
  const hint = typeof value === 'string' ? '' : ' (put it in quotes)';
  return { problem: `must be ${expectation(setting)}, got ${describe(node, setting.secret)}${hint}` };
}

function checkChoice(setting: Extract<ScalarSetting, { kind: 'choice' }>, node: Scalar): Checked {
  const { value } = node;
  if (typeof value === 'string' && setting.choices.includes(value)) return { value };
  const near = typeof value === 'string' ? didYouMean(value, setting.choices) : undefined;
  return {
    problem: `must be ${expectation(setting)}, got ${describe(node, false)}${near === undefined ? '' : ` (did you mean "${near}"?)`}`,
  };
}

/** Completes "must be ...". */
export function expectation(setting: ScalarSetting): string {
  switch (setting.kind) {
    case 'boolean':
      return 'true or false';
    case 'integer':
      return 'an integer';
    case 'bytes':
      return 'an integer or a size such as 64KiB';
    case 'duration':
      return 'a duration with its unit (ms, s, m, h, d), such as 120s';
    case 'text':
      return setting.form?.description ?? 'text';
    case 'choice':
      return setting.choices.length === 1
        ? `"${setting.choices.join('')}"`
        : `one of ${setting.choices.map((one) => `"${one}"`).join(', ')}`;
  }
}

function isSecret(setting: ScalarSetting): boolean {
  return setting.kind === 'text' && setting.secret;
}

/** For a message. A long text may be a secret in the wrong place, so only short ones are shown. */
export function describe(node: Node | null, isSecretPlace: boolean): string {
  if (isMap(node)) return 'a section';
  if (isSeq(node)) return 'a list';
  if (isAlias(node)) return 'an alias';
  if (!isScalar(node) || node.value === null) return 'null';
  const kind = node.value instanceof Date ? 'date' : typeof node.value;
  const shown = typeof node.value === 'string' ? node.value : (node.source ?? '');
  if (isSecretPlace || shown.length > 20) return `a ${kind} of ${shown.length} characters`;
  return kind === 'string' ? `string ${JSON.stringify(shown)}` : `${kind} ${shown}`;
}
