/** The structural check of the operator's file: every key known, every value of its exact type, every problem in one run. */
import { isAlias, isMap, isScalar, isSeq } from 'yaml';
import type { Node, Pair, YAMLMap } from 'yaml';
import { isSetting, renderedName, REQUIRED } from '#shared/platform/config/setting.ts';
import type { Section, Setting } from '#shared/platform/config/setting.ts';
import { parseDuration } from '#shared/platform/config/units.ts';
import { checkScalar, describe, isScalarSetting } from './check-scalar.ts';
import { didYouMean } from './did-you-mean.ts';
import type { Position, Problem } from './problems.ts';
import { readYaml } from './read-yaml.ts';
import type { YamlFile } from './read-yaml.ts';

export interface CheckedFile {
  /** Values under their rendered names, defaults filled in. Complete only when there are no problems. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly problems: readonly Problem[];
  /** Where the value of a path stands; the beginning of the file for a default. */
  positionOf(path: string): Position;
}

type Values = Record<string, unknown>;

export function checkFile(text: string, schema: Section): CheckedFile {
  const yaml = readYaml(text);
  const check = new Check(yaml);
  const values = yaml.root === undefined ? {} : check.section(schema, yaml.root, '');
  return {
    values,
    problems: [...yaml.problems, ...check.problems],
    positionOf: (path) => check.positions.get(path) ?? { line: 1, column: 1 },
  };
}

class Check {
  readonly problems: Problem[] = [];
  readonly positions = new Map<string, Position>();
  readonly #yaml: YamlFile;

  constructor(yaml: YamlFile) {
    this.#yaml = yaml;
  }

  section(section: Section, map: YAMLMap, path: string): Values {
    const values: Values = {};
    const given = this.#keys(map, path);
    const misspelt = new Set(
      [...given.keys()].filter((name) => !Object.hasOwn(section, name)).map((name) => didYouMean(name, Object.keys(section))),
    );
    for (const [name, { pair, offset }] of given) {
      const at = join(path, name);
      const node = Object.hasOwn(section, name) ? section[name] : undefined;
      if (node === undefined) this.#problem(offset, at, unknownKey(name, section));
      else if (isSetting(node) && node.kind === 'refused') this.#problem(offset, at, `not a setting here: ${node.doc}`);
      else if (isSetting(node) && node.rendered) this.#problem(offset, at, 'not a setting: configure makes it');
      else values[renderedName(name, node)] = this.#node(node, valueOf(pair), at, offset);
    }
    for (const [name, node] of Object.entries(section)) {
      if (!given.has(name) && !misspelt.has(name)) this.#absent(name, node, map, path, values);
    }
    return inOrder(section, values);
  }

  /** Fills in the default of a key that is not there. */
  #absent(name: string, node: Section | Setting, map: YAMLMap, path: string, values: Values): void {
    if (isSetting(node) && (node.rendered || node.kind === 'refused')) return;
    const value = defaultOf(node);
    if (value === REQUIRED) this.#problem(map.range?.[0], join(path, name), 'is missing');
    else values[renderedName(name, node)] = value;
  }

  #node(node: Section | Setting, value: Node | null, path: string, keyOffset: number | undefined): unknown {
    const offset = value?.range?.[0] ?? keyOffset;
    this.positions.set(path, this.#yaml.at(offset));
    if (isAlias(value) || value?.anchor !== undefined || value?.tag !== undefined) {
      return this.#problem(offset, path, 'anchors, aliases and tags are not taken; write the value itself');
    }
    if (!isSetting(node)) return isMap(value) ? this.section(node, value, path) : this.#problem(offset, path, notASection(value));
    if (isScalarSetting(node)) {
      const checked = checkScalar(node, value);
      return 'problem' in checked ? this.#problem(offset, path, checked.problem) : checked.value;
    }
    switch (node.kind) {
      case 'list':
        return this.#list(node, value, path, offset);
      case 'map':
        return this.#map(node, value, path, offset);
      case 'optional':
        return isMap(value) ? this.section(node.item, value, path) : this.#problem(offset, path, notASection(value));
      case 'refused':
        return undefined;
    }
  }

  #list(setting: Extract<Setting, { kind: 'list' }>, value: Node | null, path: string, offset: number | undefined): unknown {
    if (!isSeq(value)) return this.#problem(offset, path, `must be a list, got ${describe(value, true)}`);
    const { minItems, maxItems } = setting;
    const count = value.items.length;
    if (count < minItems || count > maxItems) this.#problem(offset, path, `must have ${minItems} to ${maxItems} entries, has ${count}`);
    return value.items.map((item, index) => this.#node(setting.item, item as Node | null, `${path}[${index}]`, offset));
  }

  #map(setting: Extract<Setting, { kind: 'map' }>, value: Node | null, path: string, offset: number | undefined): unknown {
    if (!isMap(value)) return this.#problem(offset, path, notASection(value));
    const values: Values = {};
    for (const [name, { pair, offset: at }] of this.#keys(value, path)) {
      if (!setting.name.pattern.test(name)) this.#problem(at, join(path, name), `the key must be ${setting.name.description}`);
      else values[name] = this.#node(setting.item, valueOf(pair), join(path, name), at);
    }
    return values;
  }

  /** The keys of a section, each once. */
  #keys(map: YAMLMap, path: string): ReadonlyMap<string, { readonly pair: Pair; readonly offset: number | undefined }> {
    const keys = new Map<string, { pair: Pair; offset: number | undefined }>();
    for (const pair of map.items) {
      const { key } = pair;
      const offset = isScalar(key) ? key.range?.[0] : map.range?.[0];
      const name = isScalar(key) && key.anchor === undefined && key.tag === undefined ? keyText(key) : undefined;
      if (name === undefined) this.#problem(offset, path, 'a key must be plain text');
      else if (keys.has(name)) this.#problem(offset, join(path, name), `the key "${shortened(name)}" is here twice`);
      else keys.set(name, { pair, offset });
    }
    return keys;
  }

  #problem(offset: number | undefined, path: string, message: string): unknown {
    this.problems.push({ ...this.#yaml.at(offset), path, message });
    return undefined;
  }
}

/** The order of the declarations: what is rendered must not tell in which order the file was written. */
function inOrder(section: Section, values: Values): Values {
  const names = Object.entries(section).map(([name, node]) => renderedName(name, node));
  return Object.fromEntries(names.filter((name) => Object.hasOwn(values, name)).map((name) => [name, values[name]]));
}

function keyText(key: { readonly value: unknown; readonly source?: string | undefined }): string | undefined {
  if (typeof key.value === 'string') return key.value;
  return key.source === undefined || key.source === '' ? undefined : key.source;
}

function valueOf(pair: Pair): Node | null {
  return pair.value as Node | null;
}

function notASection(value: Node | null): string {
  if (value === null || (isScalar(value) && value.value === null)) return 'is empty; write its keys below it, or take it out';
  return `must be a section (keys below it), got ${describe(value, true)}`;
}

function unknownKey(name: string, section: Section): string {
  if (name.includes('.')) return `unknown key "${shortened(name)}"; a dot does not nest, write the keys below each other`;
  const candidates = Object.entries(section).filter(([, node]) => !isSetting(node) || !node.rendered);
  const near = didYouMean(
    name,
    candidates.map(([candidate]) => candidate),
  );
  const node = near === undefined ? undefined : section[near];
  if (near === undefined || node === undefined) return `unknown key "${shortened(name)}"; here may stand: ${names(candidates)}`;
  const reason = isSetting(node) && node.kind === 'refused' ? ` Not a setting here either: ${node.doc}` : '';
  return `unknown key "${shortened(name)}" (did you mean "${near}"?)${reason}`;
}

function names(candidates: readonly (readonly [string, Section | Setting])[]): string {
  return candidates
    .filter(([, node]) => !isSetting(node) || node.kind !== 'refused')
    .map(([name]) => name)
    .join(', ');
}

function shortened(name: string): string {
  return name.length > 40 ? `${name.slice(0, 37)}...` : name;
}

function join(path: string, name: string): string {
  return path === '' ? shortened(name) : `${path}.${shortened(name)}`;
}

/** The value of a node that is not in the file, or REQUIRED when it must be. */
export function defaultOf(node: Section | Setting): unknown {
  if (!isSetting(node)) {
    return Object.fromEntries(
      Object.entries(node)
        .filter(([, child]) => !isSetting(child) || (!child.rendered && child.kind !== 'refused'))
        .map(([name, child]) => [renderedName(name, child), defaultOf(child)]),
    );
  }
  if (node.kind === 'optional' || node.kind === 'refused') return null;
  return node.kind === 'duration' && typeof node.default === 'string' ? parseDuration(node.default) : node.default;
}
