// What the catalog says of tools. Only defaults by origin depend on it, so it is read for those alone.
import type { Database } from '#libs/postgres/open-database.js';
import type { JudgedTool } from '#libs/policy/decision.js';
import type { ToolOf } from '#libs/policy/judge-past-call.js';
import { PostgresCatalogStore } from '#libs/runs/catalog/postgres-catalog-store.js';
import { judgedTools } from '../../apps/gateway/tools/judged-tools.js';

/** A command may read much at once. */
export const policyStore = { applicationName: 'policy', timeoutMs: 30_000 };

/** @throws AppError store_unavailable */
export async function readKnownTools(database: Database): Promise<ToolOf> {
  const store = new PostgresCatalogStore(database);
  const known: JudgedTool[] = [];
  for (const { server } of await store.servers()) known.push(...(await store.published(server)));
  return judgedTools(known);
}
