/** What no single value shows: limits that must fit each other, names that must differ, keys that two services share. No I/O. */
import { isIP } from 'node:net';
import { TOPICS } from '#shared/contract/topics.ts';
import { showBytes } from '#shared/platform/config/units.ts';
import { didYouMean } from './did-you-mean.ts';
import type { Settings } from './schema.ts';

export type Fault = readonly [path: string, message: string];

/** A frame or a request carries this much around the content: ids, times, the envelope. */
export const CONTENT_OVERHEAD_BYTES = 4_096;

/** `im`, `deliver` and `wake` begin Redis keys of the default tenant, `admin` and `hotgo` those of the back office; the others are words of databases and URLs. */
const RESERVED_TENANTS: readonly string[] = ['control', 'by-code', 'by-id', 'im', 'deliver', 'wake', 'admin', 'hotgo'];

export function crossCheck(settings: Settings): readonly Fault[] {
  return [
    ...limits(settings),
    ...domains(settings),
    ...tenants(settings),
    ...topics(settings),
    ...services(settings, 'internal_api'),
    ...services(settings, 'admin_internal_api'),
    ...sharedSecrets(settings),
    ...networks(settings),
  ];
}

function limits({ message, server, auth }: Settings): readonly Fault[] {
  const needed = message.max_content_size + CONTENT_OVERHEAD_BYTES;
  const room = (path: string, size: number): readonly Fault[] =>
    needed <= size
      ? []
      : [
          [
            path,
            `must be at least ${showBytes(needed)}: message.max_content_size (${showBytes(message.max_content_size)}) and ${showBytes(CONTENT_OVERHEAD_BYTES)} around it`,
          ],
        ];
  return [
    ...room('server.tcp.max_frame_size', server.tcp.max_frame_size),
    ...room('server.http.max_body_size', server.http.max_body_size),
    ...fault(server.tcp.keepalive_ms >= server.tcp.idle_timeout_ms, 'server.tcp.keepalive', 'must be shorter than server.tcp.idle_timeout'),
    ...fault(auth.access_ttl_ms > auth.refresh_ttl_ms, 'auth.access_ttl', 'must not be longer than auth.refresh_ttl'),
  ];
}

function domains({ domain }: Settings): readonly Fault[] {
  return [
    ...fault(domain.im === domain.api, 'domain.im', 'must differ from domain.api: the name decides who gets a connection'),
    ...fault(domain.admin === domain.api || domain.admin === domain.im, 'domain.admin', 'must differ from domain.api and domain.im'),
  ];
}

function tenants({ tenants: list }: Settings): readonly Fault[] {
  return list.flatMap(({ code }, index) => [
    ...fault(RESERVED_TENANTS.includes(code), `tenants[${index}].code`, `"${code}" is reserved (${RESERVED_TENANTS.join(', ')})`),
    ...fault(list.findIndex((other) => other.code === code) < index, `tenants[${index}].code`, `"${code}" is here twice`),
  ]);
}

/** Kafka's metrics write `.` and `_` alike, so two names must differ in more. */
function topics({ kafka }: Settings): readonly Fault[] {
  const own: readonly string[] = TOPICS;
  return kafka.topics.flatMap(({ name }, index): readonly Fault[] => {
    const at = `kafka.topics[${index}].name`;
    const before = [...own.filter((topic) => topic !== name), ...kafka.topics.slice(0, index).map((topic) => topic.name)];
    const twin = before.find((topic) => topic.replaceAll('.', '_') === name.replaceAll('.', '_'));
    if (twin === name) return [[at, `topic ${name} is here twice`]];
    if (twin !== undefined) return [[at, `differs from topic ${twin} only in "." and "_", which Kafka's metrics cannot tell apart`]];
    if (!name.startsWith('im.') || own.includes(name)) return [];
    const near = didYouMean(name, own);
    return [
      [
        at,
        `there is no topic ${name}${near === undefined ? '; names that begin with "im." are the product\'s own' : ` (did you mean "${near}"?)`}`,
      ],
    ];
  });
}

type Door = 'internal_api' | 'admin_internal_api';

/** Inside one door: a key has one source, a name used once, a date that exists. */
function services(settings: Settings, door: Door): readonly Fault[] {
  const { service_name: caller } = settings.admin_internal_api;
  const backOffice = settings.internal_api.services['hotgo-admin'];
  const mayNotAsk = door === 'internal_api' && backOffice?.allow.includes('admin_query') === false;
  const isCallerUnknown = door === 'admin_internal_api' && !Object.hasOwn(settings.admin_internal_api.services, caller);
  return [
    ...fault(
      mayNotAsk,
      'internal_api.services.hotgo-admin.allow',
      'must contain "admin_query": it is the back office of this appliance that asks',
    ),
    ...fault(isCallerUnknown, 'admin_internal_api.service_name', `"${caller}" is not among admin_internal_api.services`),
    ...Object.entries(settings[door].services).flatMap(([name, { keys }]) =>
      keys.flatMap((key, index) => {
        const at = `${door}.services.${name}.keys[${index}]`;
        return [
          ...fault(key.secret === null && key.secret_file === null, at, 'needs secret or secret_file'),
          ...fault(key.secret !== null && key.secret_file !== null, at, 'has secret and secret_file; one of them'),
          ...fault(keys.findIndex((other) => other.id === key.id) < index, `${at}.id`, `"${key.id}" is here twice`),
          ...fault(key.not_after !== null && !isTime(key.not_after), `${at}.not_after`, 'is not a time that exists'),
        ];
      }),
    ),
  ];
}

/** A key that two services know lets each speak as the other. */
function sharedSecrets(settings: Settings): readonly Fault[] {
  const seen = new Map<string, string>();
  const faults: Fault[] = [];
  for (const { at, owner, secret } of secretsOf(settings)) {
    const first = seen.get(secret);
    if (first === undefined) seen.set(secret, owner);
    else faults.push([at, `is the same secret as one of ${first}`]);
  }
  return faults;
}

function secretsOf(settings: Settings): readonly { readonly at: string; readonly owner: string; readonly secret: string }[] {
  return (['internal_api', 'admin_internal_api'] as const).flatMap((door) =>
    Object.entries(settings[door].services).flatMap(([name, { keys }]) =>
      keys.flatMap(({ secret, secret_file }, index) => {
        const at = `${door}.services.${name}.keys[${index}]`;
        const owner = `${door}.services.${name}`;
        if (secret !== null) return [{ at: `${at}.secret`, owner, secret }];
        return secret_file === null ? [] : [{ at: `${at}.secret_file`, owner, secret: `file ${secret_file}` }];
      }),
    ),
  );
}

function networks({ internal_api }: Settings): readonly Fault[] {
  return internal_api.allow_cidrs.flatMap((network, index) => {
    const [address = '', bits = ''] = network.split('/');
    const family = isIP(address);
    const isValid = family !== 0 && Number(bits) <= (family === 4 ? 32 : 128);
    return fault(!isValid, `internal_api.allow_cidrs[${index}]`, 'is not a network; write address/bits such as 10.0.0.0/8 or fd00::/8');
  });
}

function isTime(text: string): boolean {
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.toISOString() === text.replace('Z', '.000Z');
}

function fault(isWrong: boolean, path: string, message: string): readonly Fault[] {
  return isWrong ? [[path, message]] : [];
}
