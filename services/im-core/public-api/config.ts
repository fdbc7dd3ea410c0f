import { choice, duration, rendered, text } from '#shared/platform/config/setting.ts';

export const authSection = {
  registration: choice(
    'Who may make an account: "open" = anybody who reaches the api name, "closed" = nobody.',
    ['open', 'closed'],
    'open',
  ),
  access_ttl: duration('How long an access token is good. A ban or a new password ends it at once.', {
    default: '15m',
    min: '1m',
    max: '1d',
  }),
  refresh_ttl: duration('How long a device stays logged in without being used.', { default: '30d', min: '1h', max: '365d' }),
  token_key_file: rendered(text('file with the key that signs access tokens')),
};
