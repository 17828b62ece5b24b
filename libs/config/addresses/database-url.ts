// The database of a single process. Only `npm start` has its own.
import { ConfigError } from '../config-error.js';
import type { Config } from '../schema.js';

/** @throws ConfigError */
export function databaseUrl(config: Config): string {
  const { url } = config.database;
  if (url !== undefined) return url;
  const message = 'is not set. `npm start` runs its own database; single processes need one that they share';
  throw new ConfigError([{ key: 'DATABASE_URL', message, origin: 'environment' }]);
}
