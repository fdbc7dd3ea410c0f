import { COMMANDS } from '#shared/contract/commands.ts';
import { externalId } from '#shared/contract/ids.ts';
import type { Appliance } from '#client/appliance.ts';
import type { Credentials, Login } from '#client/client-api.ts';
import { ImConnection } from '#client/im-connection.ts';
import { Samples } from './samples.ts';
import type { Latency } from './samples.ts';

export interface MuteLatency {
  /** From the 202 to the member's EVENT; 0 where the EVENT was faster than the answer. */
  readonly acceptedToEventMs: Latency;
  /** From the administrator's request to the member's EVENT. */
  readonly orderedToEventMs: Latency;
}

const TENANT = 'default';
const DEVICE = { deviceId: '4300000001', platform: 'bench' };

/** An administrator mutes a member again and again, through the whole back office and Kafka; the member's client says when it heard. */
export async function measureMute(appliance: Appliance, admin: Credentials, times: number): Promise<MuteLatency> {
  const [owner, member] = [await register(appliance, 'bench-owner'), await register(appliance, 'bench-member')];
  const { topic } = await appliance.api.createGroup(owner.accessToken, 'bench', [member.userId]);
  const token = await appliance.admin.login(admin);
  const connection = await ImConnection.open(appliance.im);
  try {
    await connection.request(COMMANDS.AUTH, { token: member.accessToken, device_id: member.deviceId, platform: 'bench' });
    const [accepted, ordered] = [new Samples(), new Samples()];
    for (let n = 0; n < times; n += 1) {
      const sentMs = performance.now();
      const payload = { topic, user_id: externalId('usr', BigInt(member.userId)), reason: 'bench', expires_at: null };
      const { traceId } = await appliance.admin.order(token, { tenant: TENANT, eventType: 'group.member.mute', payload });
      const acceptedMs = performance.now();
      const event = await connection.pushes.next(
        'EVENT group.mute.updated',
        ({ command, data }) => command === COMMANDS.EVENT && data['event'] === 'group.mute.updated' && data['trace_id'] === traceId,
      );
      accepted.add(Math.max(0, event.atMs - acceptedMs));
      ordered.add(event.atMs - sentMs);
    }
    return { acceptedToEventMs: accepted.summary(), orderedToEventMs: ordered.summary() };
  } finally {
    connection.cut();
  }
}

async function register({ api }: Appliance, name: string): Promise<Login> {
  const credentials = { name, password: crypto.randomUUID() };
  await api.register(credentials);
  return api.login(credentials, DEVICE);
}
