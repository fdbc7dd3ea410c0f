/** The delivery worker's settings; outbox-and-cron needs them too, so they live with the rules. */
export { deliverSection } from '#shared/tenant/config.ts';
