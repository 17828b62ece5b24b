// Settings of every PostgreSQL connection: a name, deadlines for connecting and for each statement, and session settings.
// Settings that the operator put into the URL (`options`) are kept.
import type { ClientConfig } from 'pg';

export interface ConnectionSettings {
  url: string;
  /** Deadline for connecting, and for waiting for a free connection, ms. */
  timeoutMs: number;
  /** Deadline for one statement, enforced by the server; default `timeoutMs`. */
  statementTimeoutMs?: number;
  /** Shown in pg_stat_activity. */
  applicationName: string;
  set?: Readonly<Record<string, string | number>>;
}

export function clientConfig(settings: ConnectionSettings): ClientConfig {
  const { url, timeoutMs, applicationName, statementTimeoutMs = timeoutMs } = settings;
  return {
    // Prisma's driver adapter drops time zones, so sessions use UTC.
    connectionString: sessionUrl(url, applicationName, { TimeZone: 'UTC', ...settings.set }),
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + 500,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}

/**
 * Appends to the text instead of rebuilding it: the URL class cannot parse a URL with a socket directory, and of two equal
 * parameters the driver uses the last.
 */
function sessionUrl(databaseUrl: string, applicationName: string, set: NonNullable<ConnectionSettings['set']>): string {
  const query = databaseUrl.indexOf('?');
  const given = query < 0 ? null : new URLSearchParams(databaseUrl.slice(query + 1)).get('options');
  const ours = Object.entries(set).map(([name, value]) => `-c ${name}=${value}`);
  const options = [...(given === null ? [] : [given]), ...ours].join(' ');
  const parameters = `options=${encodeURIComponent(options)}&application_name=${encodeURIComponent(applicationName)}`;
  return `${databaseUrl}${query < 0 ? '?' : '&'}${parameters}`;
}
