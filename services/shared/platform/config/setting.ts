/**
 * How a part declares its settings: once, for everybody. From these declarations come the check of the operator's file with its
 * suggestions, the comments of the shipped file, the published JSON Schema, and what a service accepts in its rendered file.
 *
 * A setting is *authored* (an operator may write it in appliance.yml) or *rendered* (made by configure: addresses, paths, logins).
 * Names are snake_case. A duration is authored with a unit (`idle_timeout: 120s`) and rendered in milliseconds with the unit in its name
 * (`idle_timeout_ms: 120000`); a byte count is authored as an integer or `64KiB` and rendered as an integer.
 */
interface Common {
  /** What it is for, its unit, what happens at its limit. Shown to operators. */
  readonly doc: string;
  readonly rendered: boolean;
}

/** Not given and without a default. */
export const REQUIRED = Symbol('required');
type Required = typeof REQUIRED;

export interface BooleanSetting extends Common {
  readonly kind: 'boolean';
  readonly default: boolean | Required;
}

export interface IntegerSetting extends Common {
  readonly kind: 'integer';
  readonly default: number | Required;
  readonly min: number;
  readonly max: number;
}

export interface BytesSetting extends Common {
  readonly kind: 'bytes';
  readonly default: number;
  readonly min: number;
  readonly max: number;
}

export interface DurationSetting extends Common {
  readonly kind: 'duration';
  /** With unit, as it is authored. */
  readonly default: string | Required;
  readonly min: string;
  readonly max: string;
}

export interface TextSetting<Value extends string | null> extends Common {
  readonly kind: 'text';
  readonly default: Value | Required;
  readonly form?: TextForm;
  /** Never shown, in no message. */
  readonly secret: boolean;
}

export interface TextForm {
  readonly pattern: RegExp;
  /** Completes "must be ...". */
  readonly description: string;
}

export interface ChoiceSetting<Choice extends string> extends Common {
  readonly kind: 'choice';
  readonly choices: readonly Choice[];
  readonly default: Choice | Required;
}

export interface ListSetting<Item extends Setting | Section> extends Common {
  readonly kind: 'list';
  readonly item: Item;
  /** Of scalars or of sections, as rendered. */
  readonly default: readonly unknown[] | Required;
  readonly minItems: number;
  readonly maxItems: number;
}

/** A section whose keys the operator chooses. */
export interface MapSetting<Item extends Setting | Section> extends Common {
  readonly kind: 'map';
  readonly name: TextForm;
  readonly item: Item;
  readonly default: Readonly<Record<string, unknown>> | Required;
}

/** A section that may be absent as a whole. */
export interface OptionalSetting<Item extends Section> extends Common {
  readonly kind: 'optional';
  readonly item: Item;
}

/** A key that exists elsewhere, or existed, and has no meaning here. */
export interface RefusedSetting extends Common {
  readonly kind: 'refused';
}

export type Setting =
  | BooleanSetting
  | IntegerSetting
  | BytesSetting
  | DurationSetting
  | TextSetting<string>
  | TextSetting<string | null>
  | ChoiceSetting<string>
  | ListSetting<Setting | Section>
  | MapSetting<Setting | Section>
  | OptionalSetting<Section>
  | RefusedSetting;

export interface Section {
  readonly [name: string]: Setting | Section;
}

export function isSetting(node: Setting | Section): node is Setting {
  return typeof node['kind'] === 'string';
}

/** `authored` leaves out what configure makes. */
type Side = 'authored' | 'rendered';

export type ValueOf<Node, S extends Side = 'rendered'> = Node extends { kind: 'boolean' }
  ? boolean
  : Node extends { kind: 'integer' | 'bytes' | 'duration' }
    ? number
    : Node extends TextSetting<infer Value>
      ? Value
      : Node extends ChoiceSetting<infer Choice>
        ? Choice
        : Node extends ListSetting<infer Item>
          ? readonly ValueOf<Item, S>[]
          : Node extends MapSetting<infer Item>
            ? Readonly<Record<string, ValueOf<Item, S>>>
            : Node extends OptionalSetting<infer Item>
              ? ConfigOf<Item, S> | null
              : Node extends Section
                ? ConfigOf<Node, S>
                : never;

type NameOf<Name, Node, S extends Side> = Node extends { kind: 'refused' }
  ? never
  : [S, Node] extends ['authored', { rendered: true }]
    ? never
    : Node extends { kind: 'duration' }
      ? `${Name & string}_ms`
      : Name;

/** What is read of a section: by a service from its rendered file, or by configure from appliance.yml. */
export type ConfigOf<Sections extends Section, S extends Side = 'rendered'> = {
  readonly [Name in keyof Sections as NameOf<Name, Sections[Name], S>]: ValueOf<Sections[Name], S>;
};

/** The name a setting has in a rendered file. */
export function renderedName(name: string, node: Setting | Section): string {
  return isSetting(node) && node.kind === 'duration' ? `${name}_ms` : name;
}

export const boolean = (doc: string, value?: boolean): BooleanSetting => ({
  kind: 'boolean',
  doc,
  default: value ?? REQUIRED,
  rendered: false,
});

export const integer = (
  doc: string,
  options: { readonly default?: number; readonly min: number; readonly max: number },
): IntegerSetting => ({
  kind: 'integer',
  doc,
  rendered: false,
  ...options,
  default: options.default ?? REQUIRED,
});

export const bytes = (doc: string, options: { readonly default: number; readonly min: number; readonly max: number }): BytesSetting => ({
  kind: 'bytes',
  doc,
  rendered: false,
  ...options,
});

export const duration = (
  doc: string,
  options: { readonly default?: string; readonly min: string; readonly max: string },
): DurationSetting => ({
  kind: 'duration',
  doc,
  rendered: false,
  ...options,
  default: options.default ?? REQUIRED,
});

interface TextOptions {
  readonly form?: TextForm;
  readonly secret?: boolean;
}

/** Text that must be given, or that has a default. */
export const text = (
  doc: string,
  { default: value, ...options }: TextOptions & { readonly default?: string } = {},
): TextSetting<string> => ({
  kind: 'text',
  doc,
  rendered: false,
  secret: false,
  ...options,
  default: value ?? REQUIRED,
});

/** Text that may be left out. */
export const optionalText = (doc: string, options: TextOptions = {}): TextSetting<string | null> => ({
  kind: 'text',
  doc,
  rendered: false,
  secret: false,
  ...options,
  default: null,
});

export const choice = <const Choice extends string>(
  doc: string,
  choices: readonly Choice[],
  value?: NoInfer<Choice>,
): ChoiceSetting<Choice> => ({
  kind: 'choice',
  doc,
  choices,
  rendered: false,
  default: value ?? REQUIRED,
});

export const list = <Item extends Setting | Section>(
  doc: string,
  item: Item,
  options: { readonly default?: readonly unknown[]; readonly minItems?: number; readonly maxItems?: number } = {},
): ListSetting<Item> => ({
  kind: 'list',
  doc,
  item,
  rendered: false,
  default: options.default ?? REQUIRED,
  minItems: options.minItems ?? 0,
  maxItems: options.maxItems ?? 256,
});

export const map = <Item extends Setting | Section>(
  doc: string,
  name: TextForm,
  item: Item,
  value?: Readonly<Record<string, unknown>>,
): MapSetting<Item> => ({ kind: 'map', doc, name, item, rendered: false, default: value ?? REQUIRED });

export const optional = <Item extends Section>(doc: string, item: Item): OptionalSetting<Item> => ({
  kind: 'optional',
  doc,
  item,
  rendered: false,
});

/** @param doc one sentence why the key is not taken, and what to do instead */
export const refused = (doc: string): RefusedSetting => ({ kind: 'refused', doc, rendered: false });

/** Not the operator's: made by configure. */
export const rendered = <S extends Setting>(setting: S): S & { readonly rendered: true } => ({ ...setting, rendered: true });
