import { integer, rendered } from '../config/setting.ts';

/** Worker ids of im-core; each process leases one, the search starts here (MSG-05). */
export const idSection = {
  snowflake_worker_id: integer(
    'Where im-core begins to look for a free worker id for message ids. Differs between appliances that share a database.',
    {
      default: 1,
      min: 0,
      max: 767,
    },
  ),
};

/** Worker ids of outbox-and-cron, which share no number with those of im-core. */
export const backgroundIdSection = {
  snowflake_worker_id: rendered(integer('where the search for a free worker id starts', { default: 768, min: 768, max: 895 })),
};
