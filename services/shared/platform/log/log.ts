import { pino } from 'pino';

/** Fields that lines may carry (OBS-01). Bodies, tokens and keys never belong in a line (OBS-14). */
export interface LogFields {
  readonly trace_id?: string;
  readonly user_id?: string;
  readonly device_id?: string;
  readonly real_ip?: string;
  readonly connection_id?: string;
  readonly command?: string;
  readonly conversation_id?: string;
  readonly msg_id?: string;
  readonly [field: string]: string | number | boolean | Error | undefined;
}

export interface Log {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  child(fields: LogFields): Log;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** One JSON line per event on stdout, times in UTC. */
export function openLog(service: string, level: LogLevel): Log {
  return pino({
    level,
    base: { service, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    messageKey: 'message',
    formatters: { level: (label) => ({ level: label }) },
    serializers: { error: errorFields },
  });
}

/** What of an error's own fields is no piece of what somebody wrote. MySQL's drivers hang the whole statement with its values on theirs. */
const ERROR_FIELDS: readonly string[] = ['type', 'message', 'stack', 'code', 'errno', 'syscall', 'reason', 'fault', 'retriable'];

/** An error as a line shows it, its causes in message and stack. */
export function errorFields(error: Error): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(pino.stdSerializers.err(error)).filter(([name]) => ERROR_FIELDS.includes(name)));
}

/** For tests and parts whose lines nobody wants. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
};
