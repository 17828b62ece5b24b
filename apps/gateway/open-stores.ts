// Opens the database and the backing services of a gateway, and the keeper of the audit.
import { AuditKeeper } from '#libs/audit/chain/audit-keeper.js';
import { readSigningKey } from '#libs/audit/chain/checkpoint.js';
import type { Backing } from '#libs/backing/backing.js';
import { openBacking } from '#libs/backing/open-backing.js';
import { databaseUrl } from '#libs/config/addresses/database-url.js';
import type { Config } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import { type Database, openDatabase } from '#libs/postgres/open-database.js';
import { poolSizes } from '#libs/postgres/pool-sizes.js';

/** @throws AppError store_unavailable if a service cannot be reached; nothing is left open then */
export async function openStores(
  config: Config,
  applicationName: string,
  logger: Logger,
): Promise<{ database: Database; backing: Backing }> {
  const pools = poolSizes(config);
  const connection = { timeoutMs: config.database.timeout_ms, applicationName };
  const url = databaseUrl(config);
  const database = openDatabase({ ...connection, url, poolSize: pools.store });
  try {
    const redis = config.redis.url === undefined ? {} : { redisUrl: config.redis.url };
    const backing = await openBacking({ ...connection, databaseUrl: url, poolSize: pools.backing, logger, ...redis });
    return { database, backing };
  } catch (error) {
    await database.close();
    throw error;
  }
}

export function openAuditKeeper(
  config: Config,
  database: Database,
  applicationName: string,
  logger: Logger,
): AuditKeeper {
  const { signing_key: signingKey, retention_days: retentionDays } = config.audit;
  return new AuditKeeper({
    database,
    connection: { url: databaseUrl(config), timeoutMs: config.database.timeout_ms, applicationName },
    key: signingKey === undefined ? undefined : readSigningKey(signingKey),
    retentionDays,
    logger,
  });
}
