// How every connection to PostgreSQL is made: bounded in time, named, in UTC (the driver adapter drops time zones).
import type { PoolConfig } from 'pg';

export interface ConnectionSettings {
  url: string;
  /** Bounds connecting, waiting for a free connection, and each statement, ms. */
  timeoutMs: number;
  /** Shown by pg_stat_activity. */
  applicationName: string;
}

/** The URL's own `options` are kept; ours come after them. */
export function connectionConfig(settings: ConnectionSettings): PoolConfig {
  const url = new URL(settings.url);
  const given = url.searchParams.get('options');
  url.searchParams.delete('options');
  return {
    connectionString: url.href,
    application_name: settings.applicationName,
    connectionTimeoutMillis: settings.timeoutMs,
    statement_timeout: settings.timeoutMs,
    query_timeout: settings.timeoutMs,
    keepAlive: true,
    options: [given, '-c TimeZone=UTC'].filter(Boolean).join(' '),
  };
}
