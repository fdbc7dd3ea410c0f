import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import type { ApplianceAddress } from '#client/appliance.ts';
import { addressOf } from '#client/tls-connection.ts';
import { ConfigProblems } from '../configure/problems.ts';
import { readSettings } from '../configure/settings.ts';
import type { Settings } from '../configure/schema.ts';
import { CommandError } from './command.ts';
import type { Arguments, Context, OptionSpec } from './command.ts';

/** Options of the commands that look at an appliance from outside. */
export const ADDRESS_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  connect: {
    kind: 'value',
    placeholder: 'HOST:PORT',
    summary: 'where the appliance is (default: 127.0.0.1 and the port of the settings file)',
  },
  ca: { kind: 'value', placeholder: 'FILE', summary: "authority that its certificates are checked against (default: the appliance's own)" },
  'api-name': { kind: 'value', placeholder: 'NAME', summary: 'name of the client API (default: the settings file)' },
  'im-name': { kind: 'value', placeholder: 'NAME', summary: 'name of the message gateway (default: the settings file)' },
  'admin-name': { kind: 'value', placeholder: 'NAME', summary: "name of the administrators' API (default: the settings file)" },
};

export interface Found extends ApplianceAddress {
  readonly settings: Settings;
}

/** From the settings file and the line. @throws {CommandError} 2 settings or option refused; 1 no authority to check against */
export async function applianceAddress({ file, home }: Context, { values }: Arguments): Promise<Found> {
  const settings = await settingsOf(file);
  const connect = values.get('connect') ?? `127.0.0.1:${settings.port}`;
  refuseBadAddress(connect);
  return {
    settings,
    connect,
    apiName: values.get('api-name') ?? settings.domain.api,
    imName: values.get('im-name') ?? settings.domain.im,
    adminName: values.get('admin-name') ?? settings.domain.admin,
    ca: await authority(settings, values.get('ca'), join(home, 'state', 'ca.pem')),
  };
}

async function settingsOf(file: string): Promise<Settings> {
  try {
    return (await readSettings({ now: new Date() }, file)).settings;
  } catch (error) {
    if (error instanceof ConfigProblems) throw new CommandError(2, error.message);
    throw error;
  }
}

function refuseBadAddress(connect: string): void {
  try {
    addressOf(connect);
  } catch {
    throw new CommandError(2, `--connect: "${connect}" is not HOST:PORT`);
  }
}

/** Where the operator brought certificates, a public authority may have signed them: then both count. */
async function authority({ tls }: Settings, given: string | undefined, own: string): Promise<string> {
  const file = given ?? own;
  const isOwnEverywhere = Object.values(tls).every((certificate) => certificate === null);
  try {
    const pem = await readFile(file, 'utf8');
    return given !== undefined || isOwnEverywhere ? pem : [pem, ...rootCertificates].join('\n');
  } catch (error) {
    if (given === undefined && !isOwnEverywhere) return rootCertificates.join('\n');
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new CommandError(
      1,
      `no authority to check certificates against: ${file} cannot be read (${code}); is the appliance configured here? See --home and --ca`,
    );
  }
}
