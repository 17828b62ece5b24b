// The log on pino: one JSON line each, with exactly the fields of LogFields, pretty on a terminal. Everything passes the
// redactor; a line has at most `maxLineLength` characters. Refuses to throw, also when nobody reads any more.
import { pino, type DestinationStream } from 'pino';
import { describeError } from './describe-error.js';
import type { LogFields, Logger } from './logger.js';
import { createRedactor } from './redact.js';

export interface LoggerOptions {
  /** `gateway`, `worker`, … */
  service: string;
  level: 'debug' | 'info' | 'warn' | 'error';
  /** Struck out wherever they appear: `secretValues(config)`. */
  secrets?: readonly string[];
  /** Default: standard output. */
  destination?: DestinationStream;
  /** Default: whether standard output is a terminal. */
  pretty?: boolean;
}

export interface OpenLogger extends Logger {
  /** These secrets in place of those that it was opened with. */
  strikeOut(secrets: readonly string[]): void;
  /** Writes what is still held. For the last moment of a process. */
  flush(): void;
}

type Level = LoggerOptions['level'];

const maxMetadataLength = 12_288;
/** Characters that wait at most for the end of a turn of the event loop. */
const maxGatheredLength = 65_536;
const ids = ['tool', 'requestId', 'runId', 'sessionId', 'userId', 'traceId'] as const;

export async function openLogger(options: LoggerOptions): Promise<OpenLogger> {
  const redactor = createRedactor(options.secrets);
  const { stream, flush } = await openStream(options);
  const log = pino(
    {
      level: options.level,
      messageKey: 'message',
      base: { service: options.service },
      timestamp: () => `,"timestamp":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    stream,
  );
  const debug = options.level === 'debug';

  function write(level: Level, fields: LogFields, message: string): void {
    if (!log.isLevelEnabled(level)) return;
    const line: Record<string, unknown> = {};
    for (const id of ids) {
      const value = fields[id];
      if (value !== undefined) line[id] = redactor.text(value, 256);
    }
    if (fields.duration !== undefined) line['duration'] = Math.round(fields.duration * 1000) / 1000;
    const metadata = boundedMetadata(fields);
    if (metadata !== undefined) line['metadata'] = metadata;
    log[level](line, redactor.text(message));
  }

  function boundedMetadata({ metadata, error }: LogFields): unknown {
    if (metadata === undefined && error === undefined) return undefined;
    const described = error === undefined ? {} : { error: describeError(error, debug) };
    const clean = redactor.value({ ...metadata, ...described });
    const { length } = JSON.stringify(clean);
    return length > maxMetadataLength ? { truncated: true, characters: length, ...firstError(clean) } : clean;
  }

  /** What a line that is too long still says of its error. */
  function firstError(clean: unknown): object {
    const { error } = clean as { error?: { code: string; message: string } };
    return error === undefined ? {} : { error: { code: error.code, message: error.message } };
  }

  function bind(bound: LogFields): Logger {
    const at = (level: Level) => (fields: LogFields, message: string) => write(level, join(bound, fields), message);
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: (fields) => bind(join(bound, fields)),
    };
  }

  return { ...bind({}), strikeOut: redactor.strikeOut, flush };
}

function join(bound: LogFields, fields: LogFields): LogFields {
  const metadata =
    bound.metadata === undefined || fields.metadata === undefined
      ? (fields.metadata ?? bound.metadata)
      : { ...bound.metadata, ...fields.metadata };
  return { ...bound, ...fields, ...(metadata === undefined ? {} : { metadata }) };
}

async function openStream(options: LoggerOptions): Promise<{ stream: DestinationStream; flush: () => void }> {
  const pretty = options.pretty ?? (options.destination === undefined && process.stdout.isTTY);
  if (pretty) {
    const { prettyFactory } = await import('pino-pretty');
    const prettify = prettyFactory({
      messageKey: 'message',
      timestampKey: 'timestamp',
      translateTime: 'SYS:HH:MM:ss.l',
      colorize: options.destination === undefined,
      singleLine: true,
      ignore: 'service',
      messageFormat: '{service}: {message}',
    });
    const target = options.destination ?? { write: (text: string) => void process.stdout.write(text) };
    return { stream: { write: (line: string) => target.write(prettify(line)) }, flush: () => undefined };
  }
  if (options.destination !== undefined) return { stream: options.destination, flush: () => undefined };
  // Not pino's own destination: its last flush turns for ever once the reader of a pipe has gone (sonic-boom, EPIPE).
  const ignore = () => undefined;
  if (!process.stdout.listeners('error').some((listener) => listener.name === ignore.name)) {
    process.stdout.on('error', ignore);
  }
  return gatherLines((text) => void process.stdout.write(text));
}

/** Lines of one turn of the event loop go out in one write: each of its own is a system call of every request. */
function gatherLines(write: (text: string) => void): { stream: DestinationStream; flush: () => void } {
  let gathered = '';
  const flush = () => {
    const text = gathered;
    gathered = '';
    if (text !== '') write(text);
  };
  process.once('exit', flush);
  return {
    stream: {
      write(line: string) {
        if (gathered === '') setImmediate(flush);
        gathered += line;
        if (gathered.length >= maxGatheredLength) flush();
      },
    },
    flush,
  };
}
