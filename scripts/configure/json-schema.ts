import { isSetting, REQUIRED } from '#shared/platform/config/setting.ts';
import type { Section, Setting } from '#shared/platform/config/setting.ts';
import { operatorSchema, SECTION_DOCS } from './schema.ts';

type Json = Readonly<Record<string, unknown>>;

const DURATION = { type: 'string', pattern: '^(0|[1-9][0-9]*)(ms|s|m|h|d)$' };
const BYTES = '^(0|[1-9][0-9]*)(B|KiB|MiB|GiB)$';

/** JSON Schema of appliance.yml, for editors. The check of configure is stricter: it also looks at what belongs together. */
export function jsonSchema(): Json {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $comment: 'Generated from the config.ts of each room by scripts/configure/write-published.ts; edits are lost.',
    title: 'appliance.yml',
    ...object(operatorSchema, ''),
  };
}

function object(section: Section, path: string): Json {
  const entries = Object.entries(section).filter(([, node]) => !isSetting(node) || (!node.rendered && node.kind !== 'refused'));
  const required = entries.filter(([, node]) => isSetting(node) && 'default' in node && node.default === REQUIRED).map(([name]) => name);
  const doc = SECTION_DOCS[path];
  return {
    ...(doc === undefined ? {} : { description: doc }),
    type: 'object',
    additionalProperties: false,
    ...(required.length === 0 ? {} : { required }),
    properties: Object.fromEntries(entries.map(([name, node]) => [name, schemaOf(node, path === '' ? name : `${path}.${name}`)])),
  };
}

function schemaOf(node: Section | Setting, path: string): Json {
  if (!isSetting(node)) return object(node, path);
  const isShown = 'default' in node && node.default !== REQUIRED && node.default !== null;
  return { description: node.doc, ...typeOf(node, path), ...(isShown ? { default: node.default } : {}) };
}

function typeOf(setting: Setting, path: string): Json {
  switch (setting.kind) {
    case 'boolean':
      return { type: 'boolean' };
    case 'integer':
      return { type: 'integer', minimum: setting.min, maximum: setting.max };
    case 'bytes':
      return {
        anyOf: [
          { type: 'integer', minimum: setting.min, maximum: setting.max },
          { type: 'string', pattern: BYTES },
        ],
      };
    case 'duration':
      return DURATION;
    case 'text':
      return { type: 'string', ...(setting.form === undefined ? {} : { pattern: setting.form.pattern.source }) };
    case 'choice':
      return { enum: setting.choices };
    case 'list':
      return { type: 'array', minItems: setting.minItems, maxItems: setting.maxItems, items: schemaOf(setting.item, `${path}[]`) };
    case 'map':
      return {
        type: 'object',
        propertyNames: { pattern: setting.name.pattern.source },
        additionalProperties: schemaOf(setting.item, `${path}.*`),
      };
    case 'optional':
      return object(setting.item, path);
    case 'refused':
      return {};
  }
}
