/** Settings of the rules that more than one process applies. */
import { bytes, choice, duration, integer, list, rendered, text } from '#shared/platform/config/setting.ts';

const TENANT_CODE = {
  pattern: /^[a-z][a-z0-9-]{0,30}$/,
  description: 'small letters, digits and "-", beginning with a letter, at most 31',
};

export const tenantsSetting = list(
  'Tenants of this appliance; each has a database im_<code>. Taking a tenant away closes its doors and keeps its data.',
  {
    code: text('Short name; it is part of the database name, of Redis keys and of URLs, and never changes.', { form: TENANT_CODE }),
    database: rendered(text('im_<code>')),
  },
  { default: [{ code: 'default' }], minItems: 1, maxItems: 64 },
);

export const messageSection = {
  max_content_size: bytes('Largest content of one message, as encoded.', { default: 65_536, min: 1_024, max: 917_504 }),
  sync_limit: integer('Messages in one answer to SYNC_MESSAGES.', { default: 200, min: 1, max: 1_000 }),
  msgid_expire_ms: integer('How long an id from GENERATE_MSG_ID may be used (ms).', { default: 300_000, min: 1_000, max: 86_400_000 }),
  persist_mode: choice(
    'How messages are stored. "sync" is the only mode of this version: stored before they are acknowledged.',
    ['sync'],
    'sync',
  ),
  // Whoever measures compares the group commit with one transaction a message in the same process; no operator needs it.
  writers: rendered(
    list(
      'tenants whose messages are written otherwise than by the product',
      {
        tenant: text('code', { form: TENANT_CODE }),
        lanes: integer('connections that write', { min: 1, max: 64 }),
        batch_messages: integer('messages in one transaction at most', { min: 1, max: 256 }),
      },
      { default: [] },
    ),
  ),
};

export const deliverSection = {
  workers: integer('Delivery workers of one process; each works on up to 8 of the 64 shards of the queue at the same time.', {
    default: 8,
    min: 1,
    max: 8,
  }),
  take_timeout: duration('How long an idle worker waits for a job before it looks around.', { default: '5s', min: '1s', max: '60s' }),
  large_group: integer('Groups with more members keep one list entry for all instead of one for each.', {
    default: 500,
    min: 10,
    max: 100_000,
  }),
};
