// The logger of a call whose client hears it too: each line goes to the log, and to the client as `notifications/message`.
// The client gets no stack and no message of an unknown error.
import type { LoggingLevel } from '@modelcontextprotocol/server';
import { redact } from '#libs/audit/redact.js';
import type { LogFields, Logger, LogLevel } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Json } from '#libs/schemas/json.js';

/** Sends a line, unless the client wants only graver ones. Never throws. */
export type SendLog = (level: LoggingLevel, data: Json) => void;

const levels: Record<LogLevel, LoggingLevel> = { debug: 'debug', info: 'info', warn: 'warning', error: 'error' };
/** How many lines of a call the client gets. */
const maxLines = 1_000;

/** A longer line reaches the client without what the tool says beside the sentence. */
const maxLength = 16 * 1024;

export function withClientLog(log: Logger, send: SendLog): Logger {
  let left = maxLines;
  return bothLogs(log, (level, fields, message) => {
    left -= 1;
    if (left >= 0) send(levels[level], shown(fields, message));
  });
}

function bothLogs(log: Logger, tell: (level: LogLevel, fields: LogFields, message: string) => void): Logger {
  const both = (level: LogLevel) => (fields: LogFields, message: string) => {
    log[level](fields, message);
    tell(level, fields, message);
  };
  return {
    debug: both('debug'),
    info: both('info'),
    warn: both('warn'),
    error: both('error'),
    isLevelEnabled: () => true,
    child: (fields) => bothLogs(log.child(fields), tell),
  };
}

/** The sentence, with what the tool says beside it. */
function shown({ metadata, error }: LogFields, message: string): Json {
  const known = error instanceof AppError ? { error: { code: error.code, message: error.message } } : {};
  const text = jsonText({ ...metadata, ...known, message });
  const isBare = metadata === undefined && !('error' in known);
  return redact(isBare || text === undefined || text.length > maxLength ? message : (JSON.parse(text) as Json));
}

/** Undefined for what is no JSON: metadata may hold anything. */
function jsonText(value: object): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
