// The log: one JSON line each, with exactly the fields of LogFields, pretty on a terminal. Everything passes the redactor;
// the length of a line is bounded. Refuses to throw, also when nobody reads any more.
import { describeError } from './describe-error.js';
import type { LogFields, Logger } from './logger.js';
import { createRedactor } from './redact.js';

/** Where whole lines go. */
export interface LineStream {
  write(line: string): void;
}

export interface LoggerOptions {
  /** `gateway`, `worker`, … */
  service: string;
  level: 'debug' | 'info' | 'warn' | 'error';
  /** Struck out wherever they appear: `secretValues(config)`. */
  secrets?: readonly string[];
  /** Default: standard output. */
  destination?: LineStream;
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
const rank: Record<Level, number> = { debug: 0, info: 1, warn: 2, error: 3 };

export async function openLogger(options: LoggerOptions): Promise<OpenLogger> {
  const redactor = createRedactor(options.secrets);
  const { stream, flush } = await openStream(options);
  const lowest = rank[options.level];
  const debug = options.level === 'debug';
  const service = JSON.stringify(options.service);
  const timestamp = createTimestamps();

  function write(level: Level, fields: LogFields, message: string): void {
    if (rank[level] < lowest) return;
    let line = `{"level":"${level}","timestamp":"${timestamp()}","service":${service}`;
    for (const id of ids) {
      const value = fields[id];
      if (value !== undefined) line += `,"${id}":${JSON.stringify(redactor.text(value, 256))}`;
    }
    if (fields.duration !== undefined)
      line += `,"duration":${JSON.stringify(Math.round(fields.duration * 1000) / 1000)}`;
    const metadata = boundedMetadata(fields);
    if (metadata !== undefined) line += `,"metadata":${metadata}`;
    stream.write(`${line},"message":${JSON.stringify(redactor.text(message))}}\n`);
  }

  /** As JSON text. */
  function boundedMetadata({ metadata, error }: LogFields): string | undefined {
    if (metadata === undefined && error === undefined) return undefined;
    const described = error === undefined ? metadata : { ...metadata, error: describeError(error, debug) };
    const clean = redactor.value(described);
    const text = JSON.stringify(clean);
    if (text.length <= maxMetadataLength) return text;
    return JSON.stringify({ truncated: true, characters: text.length, ...firstError(clean) });
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

  return { ...bind(nothing), strikeOut: redactor.strikeOut, flush };
}

/** Lines of one millisecond share theirs. */
function createTimestamps(): () => string {
  let ms = 0;
  let text = '';
  return () => {
    const now = Date.now();
    if (now !== ms) {
      ms = now;
      text = new Date(now).toISOString();
    }
    return text;
  };
}

const nothing: LogFields = {};

function join(bound: LogFields, fields: LogFields): LogFields {
  if (bound === nothing) return fields;
  const metadata =
    bound.metadata === undefined || fields.metadata === undefined
      ? (fields.metadata ?? bound.metadata)
      : { ...bound.metadata, ...fields.metadata };
  return { ...bound, ...fields, ...(metadata === undefined ? {} : { metadata }) };
}

async function openStream(options: LoggerOptions): Promise<{ stream: LineStream; flush: () => void }> {
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
function gatherLines(write: (text: string) => void): { stream: LineStream; flush: () => void } {
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
