import { rendered, text } from '../config/setting.ts';

/** Where Redis is and who we are there. */
export const redisSection = {
  address: rendered(text('unix:/path or host:port')),
  user: rendered(text('service user of the ACL file')),
  password_file: rendered(text('file with the password')),
};
