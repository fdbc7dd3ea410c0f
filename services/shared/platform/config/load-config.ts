import { readFile } from 'node:fs/promises';
import convict from 'convict';
import { parseDuration } from './units.ts';
import { isSetting, REQUIRED, renderedName } from './setting.ts';
import type { ConfigOf, Section, Setting } from './setting.ts';

/** A rendered file that this process cannot use. The message names paths and what is wrong, never a value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** What every rendered file says about itself. */
export interface Rendered {
  /** "from appliance.yml <hash>; edits are lost" */
  readonly generated: string;
  readonly config_hash: string;
  readonly service: string;
}

/**
 * Reads a rendered file with exactly these sections: no key more, none less than those without a default. Deeply frozen.
 *
 * @throws {ConfigError} with every problem, one a line
 */
export async function loadConfig<S extends Section>(path: string, sections: S): Promise<ConfigOf<S> & Rendered> {
  return readConfig(path, await readFile(path, 'utf8'), sections);
}

/** The same for a text that is at hand; `path` is only named in errors. */
export function readConfig<S extends Section>(path: string, json: string, sections: S): ConfigOf<S> & Rendered {
  try {
    const config = convict<Record<string, unknown>>({ ...HEAD, ...convictSchema(sections) });
    config.load(defaultsOf(sections));
    config.load(JSON.parse(json) as Record<string, unknown>);
    config.validate({ allowed: 'strict' });
    return deepFreeze(config.getProperties()) as ConfigOf<S> & Rendered;
  } catch (error) {
    // Every leaf is marked sensitive, so convict names paths and our own words only; a JSON error would show a piece of the text.
    const reason = error instanceof SyntaxError ? 'it is not JSON' : error instanceof Error ? error.message : String(error);
    throw new ConfigError(`${path}: ${reason}`);
  }
}

type Leaf = convict.SchemaObj<unknown>;
interface Tree {
  [name: string]: Leaf | Tree;
}

const anyText = (value: unknown): void => {
  if (typeof value !== 'string' || value === '') throw new Error('is missing');
};
const HEAD: Tree = Object.fromEntries(
  ['generated', 'config_hash', 'service'].map((name) => [name, { default: null, format: anyText, sensitive: true }]),
);

function convictSchema(section: Section): Tree {
  return Object.fromEntries(
    Object.entries(section)
      .filter(([, node]) => !isSetting(node) || node.kind !== 'refused')
      .map(([name, node]) => [renderedName(name, node), isSetting(node) ? leaf(node) : convictSchema(node)]),
  );
}

function leaf(setting: Setting): Leaf {
  return {
    doc: setting.doc,
    default: null, // With another default convict would turn a text into the default's type, "5x" into 5. Ours are loaded before the file.
    sensitive: true,
    format: (value: unknown) => {
      assertValue(setting, value, '');
    },
  };
}

function defaultsOf(section: Section): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(section)
      .map(([name, node]): [string, unknown] => [renderedName(name, node), isSetting(node) ? defaultOf(node) : defaultsOf(node)])
      .filter(([, value]) => value !== null),
  );
}

function defaultOf(setting: Setting): unknown {
  if (setting.kind === 'optional' || setting.kind === 'refused' || setting.default === REQUIRED) return null;
  if (setting.kind === 'duration') return parseDuration(setting.default) ?? null;
  return setting.default;
}

function assertNode(node: Setting | Section, value: unknown, at: string): void {
  if (isSetting(node)) assertValue(node, value, at);
  else assertSection(node, value, at);
}

/** Sections inside lists and maps: convict itself looks at no key of them. */
function assertSection(section: Section, value: unknown, at: string): void {
  if (!isRecord(value)) throw new Error(`${at} must be an object`);
  const names = new Map(Object.entries(section).map(([name, node]) => [renderedName(name, node), node]));
  for (const name of Object.keys(value)) if (!names.has(name)) throw new Error(`${at}.${name} is not declared`);
  for (const [name, node] of names) assertNode(node, value[name] ?? null, `${at}.${name}`);
}

function assertValue(setting: Setting, value: unknown, at: string): void {
  switch (setting.kind) {
    case 'boolean': {
      assert(typeof value === 'boolean', `${at} must be true or false`);
      return;
    }
    case 'integer':
    case 'bytes': {
      assert(
        Number.isSafeInteger(value) && Number(value) >= setting.min && Number(value) <= setting.max,
        `${at} must be an integer from ${setting.min} to ${setting.max}`,
      );
      return;
    }
    case 'duration': {
      assert(Number.isSafeInteger(value) && Number(value) >= 0, `${at} must be milliseconds`);
      return;
    }
    case 'text': {
      assert(
        value === null
          ? setting.default === null
          : typeof value === 'string' && value !== '' && (setting.form?.pattern.test(value) ?? true),
        `${at} must be ${setting.form?.description ?? 'a text'}`,
      );
      return;
    }
    case 'choice': {
      assert(typeof value === 'string' && setting.choices.includes(value), `${at} must be one of ${setting.choices.join(', ')}`);
      return;
    }
    case 'list':
      assert(Array.isArray(value) && value.length >= setting.minItems, `${at} must be a list of at least ${setting.minItems}`);
      for (const [index, item] of (value as unknown[]).entries()) assertNode(setting.item, item, `${at}[${index}]`);
      return;
    case 'map':
      if (!isRecord(value)) throw new Error(`${at} must be an object`);
      for (const [name, item] of Object.entries(value)) assertNode(setting.item, item, `${at}.${name}`);
      return;
    case 'optional':
      if (value !== null) assertSection(setting.item, value, at);
      return;
    case 'refused':
      throw new Error(`${at} is not declared`);
  }
}

function assert(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) deepFreeze(item);
  return Object.freeze(value);
}
