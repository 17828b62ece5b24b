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

export function withClientLog(log: Logger, send: SendLog): Logger {
  let left = maxLines;
  const limited: SendLog = (level, data) => {
    left -= 1;
    if (left >= 0) send(level, data);
  };
  return bothLogs(log, limited);
}

function bothLogs(log: Logger, send: SendLog): Logger {
  const both = (level: LogLevel) => (fields: LogFields, message: string) => {
    log[level](fields, message);
    send(levels[level], shown(fields, message));
  };
  return {
    debug: both('debug'),
    info: both('info'),
    warn: both('warn'),
    error: both('error'),
    isLevelEnabled: () => true,
    child: (fields) => bothLogs(log.child(fields), send),
  };
}

/** The sentence, with what the tool says beside it. */
function shown({ metadata, error }: LogFields, message: string): Json {
  const known = error instanceof AppError ? { error: { code: error.code, message: error.message } } : {};
  // Metadata may hold anything; a client gets what is JSON.
  const said = JSON.parse(JSON.stringify({ ...metadata, ...known })) as { [member: string]: Json };
  return redact(Object.keys(said).length === 0 ? message : { ...said, message });
}
