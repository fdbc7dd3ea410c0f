import { duration, rendered } from '#shared/platform/config/setting.ts';

/** What is tidied up, and when. */
export const cronSection = {
  keep_sent: rendered(
    duration('how long sent events and finished notices are kept for those who ask what happened', {
      default: '3d',
      min: '1h',
      max: '90d',
    }),
  ),
};
