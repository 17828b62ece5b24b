// The log: pino's JSON lines with exactly the fields of LogFields, pretty on a terminal. Everything passes the redactor;
// the length of a line is bounded. Refuses to throw, also when nobody reads any more.
import { pino } from 'pino';
import { type BoundedOutput, type LineStream, openOutput } from './bounded-output.js';
import { describeError } from './describe-error.js';
import type { LogFields, Logger, LogLevel } from './logger.js';
import { createRedactor, type Redactor } from './redact.js';
import { RepeatedLines } from './repeated-lines.js';

export interface LoggerOptions {
  /** `gateway`, `worker`, … */
  service: string;
  level: LogLevel;
  /** Texts to strike out wherever they appear: `secretValues(config)`. */
  secrets?: readonly string[];
  /** Default: standard output. */
  destination?: LineStream | 'stderr';
  /** Default: whether the destination is a terminal. */
  pretty?: boolean;
}

export interface OpenLogger extends Logger {
  /** Replaces the secrets that the logger was opened with. */
  strikeOut(secrets: readonly string[]): void;
  /** Writes held lines. Call at the end of a process. */
  flush(): void;
}

const maxIdLength = 256;
const maxMetadataLength = 12_288;

export async function openLogger(options: LoggerOptions): Promise<OpenLogger> {
  const redactor = createRedactor(options.secrets);
  const output = await openStream(options, (lines) => {
    logger.warn({ metadata: { lines } }, 'log lines were left out: the reader of the log was too slow or gone');
  });
  const logger = bind(writers(createPino(options, redactor, output), options.level === 'debug'));
  return { ...logger, strikeOut: redactor.strikeOut, flush: output.flush };
}

function createPino({ service, level }: LoggerOptions, redactor: Redactor, stream: LineStream) {
  const id = (value: unknown) => (typeof value === 'string' ? redactor.text(value, maxIdLength) : undefined);
  return pino(
    {
      level,
      base: { service },
      messageKey: 'message',
      timestamp: createTimestamps(),
      formatters: { level: (label) => ({ level: label }) },
      serializers: {
        tool: id,
        requestId: id,
        runId: id,
        sessionId: id,
        userId: id,
        traceId: id,
        duration: (ms: number) => Math.round(ms * 1000) / 1000,
        metadata: (value: unknown) => redactor.value(value, maxMetadataLength),
        message: (text: string) => redactor.text(text),
      },
    },
    stream,
  );
}

type Writer = (fields: LogFields, message: string) => void;
type Writers = Record<LogLevel, Writer | undefined>;

/** Undefined for a level that is off. */
function writers(root: ReturnType<typeof createPino>, debug: boolean): Writers {
  const at = (level: LogLevel) =>
    root.isLevelEnabled(level)
      ? (fields: LogFields, message: string) => {
          root[level](fields.error === undefined ? fields : withError(fields, debug), message);
        }
      : undefined;
  return { debug: at('debug'), info: at('info'), warn: withoutRepeats(at('warn')), error: at('error') };
}

/** Repeated warnings of a failure that belongs to no single request come at growing intervals. */
function withoutRepeats(write: Writer | undefined): Writer | undefined {
  if (write === undefined) return undefined;
  const lines = new RepeatedLines();
  return (fields, message) => {
    const { error, metadata, requestId, runId } = fields;
    if (error === undefined || requestId !== undefined || runId !== undefined) return write(fields, message);
    const repeated = lines.due(`${message} ${JSON.stringify(metadata)}`);
    if (repeated === undefined) return undefined;
    return write(repeated === 0 ? fields : { ...fields, metadata: { ...metadata, repeated } }, message);
  };
}

/** The error comes first, so that a long line does not lose it. */
function withError({ error, ...fields }: LogFields, debug: boolean): LogFields {
  return { ...fields, metadata: { error: describeError(error, debug), ...fields.metadata } };
}

/** Replaces pino's children, which would write a second `metadata` beside that of the line. */
function bind(write: Writers, bound?: LogFields): Logger {
  const at = (level: LogLevel) => {
    const writer = write[level];
    if (writer === undefined) return () => undefined;
    return bound === undefined ? writer : (fields: LogFields, message: string) => writer(join(bound, fields), message);
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    isLevelEnabled: (level) => write[level] !== undefined,
    child: (fields) => bind(write, bound === undefined ? fields : join(bound, fields)),
  };
}

function join(bound: LogFields, fields: LogFields): LogFields {
  const metadata =
    bound.metadata === undefined || fields.metadata === undefined
      ? (fields.metadata ?? bound.metadata)
      : { ...bound.metadata, ...fields.metadata };
  return { ...bound, ...fields, ...(metadata === undefined ? {} : { metadata }) };
}

/** Lines of one second share all but the milliseconds. */
function createTimestamps(): () => string {
  let second = 0;
  let text = '';
  return () => {
    const now = Date.now();
    const ms = now % 1_000;
    if (now - ms !== second) {
      second = now - ms;
      text = `,"timestamp":"${new Date(now).toISOString().slice(0, -4)}`;
    }
    return `${text}${String(ms).padStart(3, '0')}Z"`;
  };
}

async function openStream(
  { destination, ...options }: LoggerOptions,
  onCaughtUp: (lines: number) => void,
): Promise<BoundedOutput> {
  const given = typeof destination === 'object' ? destination : undefined;
  // Named here, so that libuv lets a write to its pipe return instead of wait.
  const standard = destination === 'stderr' ? process.stderr : process.stdout;
  const output = given === undefined ? openOutput({ fd: standard.fd, onCaughtUp }) : lines(given);
  if (given === undefined) process.once('exit', output.flush);
  if (!(options.pretty ?? (given === undefined && standard.isTTY))) return output;
  const { prettyFactory } = await import('pino-pretty');
  const prettify = prettyFactory({
    messageKey: 'message',
    timestampKey: 'timestamp',
    translateTime: 'SYS:HH:MM:ss.l',
    colorize: given === undefined,
    singleLine: true,
    ignore: 'service',
    messageFormat: '{service}: {message}',
  });
  return { write: (line) => output.write(prettify(line)), flush: output.flush };
}

/** An output that holds nothing back. */
const lines = (stream: LineStream): BoundedOutput => ({
  write: (line) => stream.write(line),
  flush: () => undefined,
});
