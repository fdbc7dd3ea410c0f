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
    serializers: { error: pino.stdSerializers.err },
  });
}

/** For tests and parts whose lines nobody wants. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
};
