import { choice, list, map, optionalText, refused, rendered, text } from '../config/setting.ts';

const SERVICE_NAME = { pattern: /^[a-z][a-z0-9-]{0,62}$/, description: 'a service name: small letters, digits and "-"' };
const KEY_ID = { pattern: /^[a-zA-Z0-9._-]{1,64}$/, description: 'letters, digits, ".", "_" and "-", at most 64' };
/** A key as text. Bytes that are no text would be read as another key by whoever decodes them otherwise. */
export const SECRET = { pattern: /^[\x21-\x7e]{32,512}$/, description: 'at least 32 printable characters without spaces' };
const PATH = { pattern: /^\/[^\0]+$/, description: 'an absolute path' };
const TIME = { pattern: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, description: 'a time in UTC such as "2027-01-31T00:00:00Z"' };

/** Services that may call, as an operator names them: `<name>: {allow, keys}`. */
export const authoredServices = <const Scope extends string>(
  scopes: readonly Scope[],
  defaults: Readonly<Record<string, { readonly allow: readonly NoInfer<Scope>[] }>>,
) =>
  map(
    'Services that may call, by name. A service without keys gets a generated one (state/internal_api/<name>/generated).',
    SERVICE_NAME,
    {
      allow: list('What it may call.', choice('scope', scopes), { minItems: 1 }),
      secret: refused('a service may have several keys: write keys: [{id: k1, secret: ...}]'),
      secret_file: refused('a service may have several keys: write keys: [{id: k1, secret_file: ...}]'),
      keys: list(
        'Keys that are accepted; two at a time while one is being replaced.',
        {
          id: text('Name of the key; shows in the audit.', { form: KEY_ID }),
          secret: optionalText('The key itself. A path is safer: this file is read by people.', { form: SECRET, secret: true }),
          secret_file: optionalText('File with the key.', { form: PATH }),
          not_after: optionalText('When it ceases to be accepted.', { form: TIME }),
        },
        { default: [], maxItems: 4 },
      ),
    },
    Object.fromEntries(Object.entries(defaults).map(([name, service]) => [name, { ...service, keys: [] }])),
  );

/** The same as a service reads it. */
export const renderedServices = rendered(
  list('services that may call', {
    name: text('X-Service-Name'),
    allow: list('scopes', text('scope')),
    keys: list('keys that are accepted', { id: text('name'), secret_file: text('file with the key'), not_after: optionalText('UTC time') }),
  }),
);

/** The one key that a service signs its own calls with. */
export const clientKeySection = {
  id: rendered(text('name of the key')),
  secret_file: rendered(text('file with the key')),
};
