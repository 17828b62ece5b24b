// What the catalog says of tools. Only defaults by origin depend on it, so it is read for those alone.
import { databaseUrl } from '#libs/config/addresses/database-url.js';
import type { Config } from '#libs/config/schema.js';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import type { ToolOf } from '#libs/policy/judge-past-call.js';
import { PostgresCatalogStore } from '#libs/runs/catalog/postgres-catalog-store.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { toolOfCall } from '../../apps/gateway/tools/catalog/tool-of-call.js';

/** @throws AppError store_unavailable, ConfigError */
export async function withDatabase<T>(config: Config, work: (database: Database) => Promise<T>): Promise<T> {
  const database = openStore(config);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

export const openStore = (config: Config): Database =>
  openDatabase({ url: databaseUrl(config), poolSize: 1, timeoutMs: 30_000, applicationName: 'policy' });

/** @throws AppError store_unavailable */
export async function readKnownTools(database: Database): Promise<ToolOf> {
  const store = new PostgresCatalogStore(database);
  const known = new Map<string, CatalogTool>();
  for (const { server, available } of await store.servers()) {
    for (const tool of await store.published(server)) {
      known.set(`${server}/${tool.tool}`, { ...tool, name: tool.tool, available });
    }
  }
  return (server, tool, args) => {
    const found = known.get(`${server}/${tool}`);
    return found === undefined || args === undefined ? found : toolOfCall(found, args);
  };
}
