// What the catalog says of tools. Only defaults by origin depend on it, so it is read for those alone.
import type { Database } from '#libs/postgres/open-database.js';
import type { ToolOf } from '#libs/policy/judge-past-call.js';
import { PostgresCatalogStore } from '#libs/runs/catalog/postgres-catalog-store.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { toolOfCall } from '../../apps/gateway/tools/tool-of-call.js';

/** A command may read much at once. */
export const policyStore = { applicationName: 'policy', timeoutMs: 30_000 };

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
