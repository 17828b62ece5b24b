// How every connection to PostgreSQL is made: named, with a deadline for connecting and for each statement, and with session
// settings of ours. Settings that the operator put into the URL (`options`) stay.
import type { ClientConfig } from 'pg';

export interface ConnectionSettings {
  url: string;
  /** For connecting, and for waiting for a free connection, ms. */
  timeoutMs: number;
  /** For one statement, on the server; unless given, `timeoutMs`. */
  statementTimeoutMs?: number;
  /** Shown by pg_stat_activity. */
  applicationName: string;
  /** Server settings by name. */
  set?: Readonly<Record<string, string | number>>;
}

export function clientConfig(settings: ConnectionSettings): ClientConfig {
  const { url, timeoutMs, applicationName, statementTimeoutMs = timeoutMs } = settings;
  return {
    // The driver adapter of Prisma drops time zones: sessions are in UTC.
    connectionString: sessionUrl(url, applicationName, { TimeZone: 'UTC', ...settings.set }),
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + 500,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}

/**
 * Appends to the text instead of rebuilding it: a URL with a socket directory is not a URL to the URL class, and the
 * driver lets the last of two equal parameters win.
 */
function sessionUrl(databaseUrl: string, applicationName: string, set: NonNullable<ConnectionSettings['set']>): string {
  const query = databaseUrl.indexOf('?');
  const given = query < 0 ? null : new URLSearchParams(databaseUrl.slice(query + 1)).get('options');
  const ours = Object.entries(set).map(([name, value]) => `-c ${name}=${value}`);
  const options = [...(given === null ? [] : [given]), ...ours].join(' ');
  const parameters = `options=${encodeURIComponent(options)}&application_name=${encodeURIComponent(applicationName)}`;
  return `${databaseUrl}${query < 0 ? '?' : '&'}${parameters}`;
}
