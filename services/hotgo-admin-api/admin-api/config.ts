import { duration, rendered, text } from '#shared/platform/config/setting.ts';

const ADMIN_NAME = { pattern: /^[a-z][a-z0-9._-]{1,63}$/, description: 'small letters, digits, ".", "_" and "-", 2 to 64' };

export const adminSection = {
  first_admin: {
    name: text('Name of the administrator that exists from the start. The password is in state/admin/first_password.', {
      default: 'admin',
      form: ADMIN_NAME,
    }),
    password_file: rendered(text('file with the first password')),
  },
  access_ttl: duration('How long an administrator stays logged in.', { default: '15m', min: '1m', max: '12h' }),
  token_key_file: rendered(text('file with the key that signs tokens of administrators')),
};
