import { stringify } from 'yaml';
import { isSetting, REQUIRED } from '#shared/platform/config/setting.ts';
import type { Section, Setting } from '#shared/platform/config/setting.ts';
import { showBytes } from '#shared/platform/config/units.ts';
import { operatorSchema, SECTION_DOCS } from './schema.ts';

const HEAD = `# yaml-language-server: $schema=./appliance.schema.json
#
# The settings of this appliance: this file is their only source, and what is not in it has the value shown here.
# After a change: scripts/appliance check, then scripts/appliance up.
#
# Sizes are bytes or 64KiB, 1MiB; times need a unit (500ms, 120s, 15m, 12h, 30d), except in keys that end in _ms or _seconds.
`;
const WIDTH = 118;

/** appliance.yml as it is shipped: every setting with its default and what it is for. */
export function shippedFile(): string {
  return `${[HEAD, ...Object.entries(operatorSchema).flatMap(([name, node]) => block(name, node, 0, ''))].join('\n').replace(/\n{3,}/g, '\n\n')}\n`;
}

function block(name: string, node: Section | Setting, depth: number, parent: string): readonly string[] {
  const path = parent === '' ? name : `${parent}.${name}`;
  if (!isSetting(node)) {
    const children = Object.entries(node).flatMap(([child, childNode]) => block(child, childNode, depth + 1, path));
    const doc = SECTION_DOCS[path];
    if (Object.values(node).every((child) => isSetting(child) && child.kind === 'optional')) {
      return ['', ...comment(doc ?? '', depth), `# ${name}:`, ...children.map((line) => `#   ${line.trimStart().replace(/^# ?/, '')}`)];
    }
    return [...(depth === 0 ? [''] : []), ...(doc === undefined ? [] : comment(doc, depth)), indent(`${name}:`, depth), ...children];
  }
  if (node.rendered || node.kind === 'refused') return [];
  if (node.kind === 'optional') return [`# ${name}:`, ...Object.keys(node.item).map((key) => `#   ${key}: /path/to/file.pem`)];
  return [...(depth === 0 ? [''] : []), ...comment(node.doc, depth), ...value(name, node, depth)];
}

function value(name: string, setting: Setting, depth: number): readonly string[] {
  if (setting.kind === 'optional' || setting.kind === 'refused' || setting.default === REQUIRED) return [];
  const shown = setting.kind === 'bytes' && setting.default >= 1_024 ? showBytes(setting.default) : setting.default;
  const isFlow = Array.isArray(shown) && shown.every((item) => typeof item !== 'object');
  const text = isFlow ? `${name}: [${shown.join(', ')}]` : stringify({ [name]: withoutEmpty(shown) }, { lineWidth: 0 }).trimEnd();
  return text.split('\n').map((line) => indent(line, depth));
}

/** Lists of a service that are empty by default say nothing. */
function withoutEmpty(item: unknown): unknown {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
  return Object.fromEntries(
    Object.entries(item)
      .filter(([, child]) => !(Array.isArray(child) && child.length === 0))
      .map(([key, child]) => [key, withoutEmpty(child)]),
  );
}

function comment(text: string, depth: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length + depth * 2 > WIDTH) lines.push(`# ${word}`);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((line) => indent(line, depth));
}

function indent(line: string, depth: number): string {
  return `${'  '.repeat(depth)}${line}`;
}
