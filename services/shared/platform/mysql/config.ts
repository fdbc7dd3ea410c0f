import { integer, rendered, text } from '../config/setting.ts';

/** Where MySQL is and who we are there. */
export const mysqlSection = {
  address: rendered(text('unix:/path or host:port')),
  user: rendered(text('service user; what it may do is in scripts/migrate/grants.ts')),
  password_file: rendered(text('file with the password')),
  pool_size: rendered(integer('connections at most, per database; further callers queue', { default: 10, min: 1, max: 200 })),
};
