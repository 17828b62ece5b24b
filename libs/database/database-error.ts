// What the database's failures mean to us. Shows none of its texts: they may name hosts, roles or data.
import { ConfigError } from '#libs/config/config-error.js';
import { AppError } from '#libs/schemas/errors.js';

/** SQLSTATE of an error of pg or Prisma, wherever it is hidden. */
export function sqlStateOf(error: unknown): string | undefined {
  return findIn(error, (record) => {
    for (const member of ['originalCode', 'code']) {
      const code = record[member];
      if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^P\d{4}$|^E[A-Z]{4}$/.test(code)) return code;
    }
    return undefined;
  });
}

/** Lost connections, shut down or starting servers, deadlines, no room, lost races. */
const unavailableStates = /^(08|53|57|58|40|25006|55P03)/;

/** Errors of sockets, pool and wire, which carry no SQLSTATE. */
const connectionFailure =
  /^(E(CONN|PIPE|HOST|NET|AI_|NOTFOUND|TIMEDOUT)\w*|P1\d{3}|P2024)$|timeout|timed out|connection (terminated|closed|error)|not queryable|after calling end|DatabaseNotReachable|ConnectionClosed|SocketTimeout/i;

/** An AppError stays; everything that a later try may heal is store_unavailable, the rest a bug of ours. */
export function toDatabaseError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const state = sqlStateOf(error);
  const away = state === undefined ? isConnectionFailure(error) : unavailableStates.test(state);
  return away ? storeUnavailable(error) : new AppError('internal_error', 'Internal error', { cause: error });
}

export function storeUnavailable(cause?: unknown): AppError {
  return new AppError('store_unavailable', 'The store is not available', { cause, retryAfterSeconds: 1 });
}

/** SQLSTATEs of a server that is there and will not have us, whatever is tried again. */
const refusals: [states: RegExp, meaning: string][] = [
  [/^28/, 'PostgreSQL refuses this user or its password'],
  [/^3D000$/, 'there is no such database'],
  [/^42501$/, 'this user may not use that database, or make tables in its schema'],
];

/** Of a connection at a start, in the words of whoever wrote DATABASE_URL: what the server or the address is to blame for. */
export function toConnectError(error: unknown): AppError | ConfigError {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const state = sqlStateOf(error);
  const because = state ?? (typeof code === 'string' ? code : undefined);
  const why = because === undefined ? '' : ` (${because})`;
  if (state === undefined ? isConnectionFailure(error) : unavailableStates.test(state)) {
    const away = `The PostgreSQL of DATABASE_URL cannot be reached${why}`;
    return new AppError('store_unavailable', away, { cause: error, retryAfterSeconds: 1 });
  }
  const unsaid = /password must be a string/.test(String(message)) ? 'PostgreSQL asks for a password' : undefined;
  const refused = refusals.find(([states]) => state !== undefined && states.test(state))?.[1];
  const otherwise = 'what is there does not answer as a PostgreSQL that can be used';
  return new ConfigError([{ key: 'DATABASE_URL', message: `${unsaid ?? refused ?? otherwise}${why}` }]);
}

function isConnectionFailure(error: unknown): boolean {
  const found = findIn(error, (record) => {
    const texts = [record['code'], record['kind'], record['message']];
    return texts.some((text) => typeof text === 'string' && connectionFailure.test(text)) ? true : undefined;
  });
  return found === true;
}

/** Looks through an error, its causes and the members in which Prisma wraps the driver's error. */
function findIn<T>(error: unknown, pick: (record: Record<string, unknown>) => T | undefined, depth = 0): T | undefined {
  if (typeof error !== 'object' || error === null || depth > 6) return undefined;
  const record = error as Record<string, unknown>;
  const here = pick(record);
  if (here !== undefined) return here;
  const inner = [record['cause'], record['meta'], record['driverAdapterError'], ...listOf(record['errors'])];
  for (const next of inner) {
    const found = findIn(next, pick, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
