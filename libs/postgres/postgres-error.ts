// Converts PostgreSQL failures to our errors. Never shows PostgreSQL's texts, which may name hosts, roles or data.
import { atHosts } from '#libs/config/addresses/shown-hosts.js';
import { ConfigError } from '#libs/config/config-error.js';
import { AppError } from '#libs/schemas/errors.js';
import { isStoreAway, sqlStateOf, storeUnavailable, toStoreError } from '#libs/store-error/store-error.js';

/** Leaves an AppError unchanged. Failures that a retry may fix become store_unavailable, all others are bugs of ours. */
export function toDatabaseError(error: unknown): AppError {
  const known = toStoreError(error);
  return known instanceof AppError ? known : new AppError('internal_error', 'Internal error', { cause: error });
}

/** SQLSTATEs of a server that answers but refuses the connection, however often it is retried. */
const refusals: [states: RegExp, meaning: string][] = [
  [/^28/, 'PostgreSQL rejected this user or its password'],
  [/^3D000$/, 'there is no such database'],
  [/^42501$/, 'this user may not use that database, or create tables in its schema'],
];

/** Explains a failed connection at startup by the setting `key` with the address `url`. */
export function toConnectError(error: unknown, url: string, key = 'DATABASE_URL'): AppError | ConfigError {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const state = sqlStateOf(error);
  const because = state ?? (typeof code === 'string' ? code : undefined);
  const why = because === undefined ? '' : ` (${because})`;
  if (isStoreAway(error)) return storeUnavailable(`PostgreSQL${atHosts(url)} (${key}) cannot be reached${why}`, error);
  const unsaid = /password must be a string/.test(String(message)) ? 'PostgreSQL requires a password' : undefined;
  const refused = refusals.find(([states]) => state !== undefined && states.test(state))?.[1];
  const otherwise = 'the server there is not a usable PostgreSQL';
  return new ConfigError([{ key, message: `${unsaid ?? refused ?? otherwise}${why}` }]);
}
