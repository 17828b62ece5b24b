// The database of one process. Only `npm start` brings one of its own.
import { ConfigError } from '../config-error.js';
import type { Config } from '../schema.js';

/** @throws ConfigError */
export function databaseUrl(config: Config): string {
  const { url } = config.database;
  if (url !== undefined) return url;
  const message = 'is not set. `npm start` brings a database of its own; a single process needs one to share';
  throw new ConfigError([{ key: 'DATABASE_URL', message, origin: 'environment' }]);
}
