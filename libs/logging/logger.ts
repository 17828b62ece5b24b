// The shape of a logger; `open-logger.ts` makes one. Fields first, then the sentence.

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** Ask before making fields that are costly. */
  isLevelEnabled(level: LogLevel): boolean;
  child(fields: LogFields): Logger;
}

export interface LogFields {
  tool?: string;
  requestId?: string;
  runId?: string;
  sessionId?: string;
  userId?: string;
  /** The trace of the request's `traceparent`. */
  traceId?: string;
  /** ms */
  duration?: number;
  /** Goes to the log as its code and message; its stack only at debug. */
  error?: unknown;
  metadata?: Record<string, unknown>;
}

export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  isLevelEnabled: () => false,
  child: () => silentLogger,
};
