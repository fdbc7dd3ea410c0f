/** How the containers of an appliance are, in the words of the process runtime. */
import { run } from '../servers/command.ts';
import type { PartHealth, PartState, PartStatus } from '../servers/part.ts';
import { PARTS, SERVICES } from '../servers/plan.ts';
import type { ApplianceStatus } from '../servers/supervisor.ts';
import type { Project } from './compose-file.ts';

/** What we read of `docker inspect`. */
export interface Container {
  readonly Id: string;
  readonly RestartCount: number;
  readonly State: {
    readonly Status: string;
    readonly Pid: number;
    readonly ExitCode: number;
    readonly StartedAt: string;
    readonly Health?: { readonly Status: string; readonly Log: readonly { readonly Output: string }[] | null };
  };
  readonly Config: { readonly Image: string; readonly Labels: Readonly<Record<string, string>> };
}

const PROJECT_LABEL = 'com.docker.compose.project';
const SERVICE_LABEL = 'com.docker.compose.service';
const ONE_OFF_LABEL = 'com.docker.compose.oneoff';
const RUNNING: readonly string[] = PARTS.filter((part) => part !== 'migrate');

/** Containers of the project by their service, those of `run` left out. */
export async function containersOf({ name }: Project): Promise<ReadonlyMap<string, Container>> {
  const ids = (await run('docker', ['ps', '--all', '--quiet', '--no-trunc', '--filter', `label=${PROJECT_LABEL}=${name}`])).split('\n');
  const known = ids.filter((id) => id !== '');
  if (known.length === 0) return new Map();
  const containers = JSON.parse(await run('docker', ['inspect', ...known])) as readonly Container[];
  const own = containers.filter(({ Config }) => Config.Labels[ONE_OFF_LABEL] !== 'True');
  return new Map(own.map((container) => [container.Config.Labels[SERVICE_LABEL] ?? '', container]));
}

/** @returns undefined when it has no container */
export async function composeStatus(project: Project): Promise<ApplianceStatus | undefined> {
  const containers = await containersOf(project);
  return containers.size === 0 ? undefined : statusOf(containers);
}

export function statusOf(containers: ReadonlyMap<string, Container>): ApplianceStatus {
  const parts = RUNNING.map((name) => partOf(name, containers.get(name)));
  const failed = [...containers].filter(
    ([name, { State }]) => !RUNNING.includes(name) && State.Status === 'exited' && State.ExitCode !== 0,
  );
  const hashes = parts.flatMap(({ name, health }) => (SERVICES.some((service) => service === name) ? (health?.configHash ?? []) : []));
  return {
    pid: 0,
    phase: parts.some(({ state }) => state !== 'stopped') ? 'running' : 'stopping',
    configHash: hashes[0] ?? '',
    problem:
      failed.length === 0 ? undefined : failed.map(([name, { State }]) => `${name} ended with exit code ${State.ExitCode}`).join(', '),
    isHealthy: parts.every(({ state }) => state === 'ready'),
    parts,
  };
}

function partOf(name: string, container: Container | undefined): PartStatus {
  if (container === undefined)
    return { name, state: 'stopped', pid: undefined, startedAt: undefined, restarts: 0, problem: 'no container', health: undefined };
  const { State, RestartCount } = container;
  const isRunning = State.Status === 'running' || State.Status === 'paused';
  return {
    name,
    state: stateOf(State),
    pid: isRunning ? State.Pid : undefined,
    startedAt: isRunning ? State.StartedAt : undefined,
    restarts: RestartCount,
    problem: isRunning ? undefined : `${State.Status}, exit code ${State.ExitCode}`,
    health: healthOf(container),
  };
}

function stateOf({ Status, Health }: Container['State']): PartState {
  if (Status === 'restarting' || Status === 'created') return 'waiting';
  if (Status !== 'running') return Status === 'paused' ? 'unhealthy' : 'stopped';
  const states: Readonly<Record<string, PartState>> = { healthy: 'ready', unhealthy: 'unhealthy' };
  return states[Health?.Status ?? ''] ?? 'starting';
}

/** A service's last answer to /readyz is in what Docker keeps of its health check; of a server we know the image. */
function healthOf({ State: { Health }, Config: { Image } }: Container): PartHealth | undefined {
  if (Health?.Status !== 'healthy') return undefined;
  const last = parsed(Health.Log?.at(-1)?.Output ?? '');
  if (last === undefined) return { version: Image.split(':')[1] ?? '' };
  return { version: last.version, configHash: last.config_hash, degraded: last.degraded, lag: last.details };
}

interface Readiness {
  readonly version: string;
  readonly config_hash: string;
  readonly degraded: readonly string[];
  readonly details: Readonly<Record<string, number>>;
}

function parsed(text: string): Readiness | undefined {
  try {
    const value = JSON.parse(text) as Partial<Readiness>;
    const { version, config_hash, degraded, details = {} } = value;
    if (version === undefined || config_hash === undefined || degraded === undefined) return undefined;
    return { version, config_hash, degraded, details };
  } catch {
    return undefined;
  }
}
