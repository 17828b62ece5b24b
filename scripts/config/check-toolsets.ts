// Which entries of toolsets match no tool, as the gateway logs them: no tool of those that workers have listed, or, if no database answers,
// of no server that is configured. Starts nothing and writes nothing.
import type { Config } from '#libs/config/schema.js';
import { runningAddress } from '#libs/embedded-postgres/running-address.js';
import { type NamedTool, Toolset } from '#libs/policy/toolset.js';
import { openDatabase } from '#libs/postgres/open-database.js';
import { PostgresCatalogStore } from '#libs/runs/catalog/postgres-catalog-store.js';
import { AppError } from '#libs/schemas/errors.js';

export interface CheckedToolset {
  name: string;
  note: string;
  /** As they are written. */
  unmatched: string[];
}

export async function checkToolsets(config: Config): Promise<CheckedToolset[]> {
  const entries = Object.entries(config.toolsets);
  if (entries.length === 0) return [];
  const tools = await knownTools(config);
  return entries.map(([name, written]) => {
    const set = new Toolset(written);
    if (tools === undefined) {
      return { name, note: `entries: ${written.length}`, unmatched: ofNoServer(set.unmatched([]), config) };
    }
    return { name, note: `tools: ${tools.filter((tool) => set.has(tool)).length}`, unmatched: set.unmatched(tools) };
  });
}

/** Modules of own tools have servers whose names only they know. */
const ofNoServer = (entries: string[], { mcpServers, worker }: Config): string[] =>
  worker.modules.length > 0 ? [] : entries.filter((entry) => !isOfServer(entry.replace(/^!/, ''), mcpServers));

function isOfServer(glob: string, servers: Config['mcpServers']): boolean {
  const server = glob.slice(0, glob.indexOf('/'));
  return server.includes('*') || Object.hasOwn(servers, server);
}

/** Undefined if the database is not there, or has no catalog yet. */
async function knownTools({ database: { url, timeout_ms }, data_dir }: Config): Promise<NamedTool[] | undefined> {
  const address = url ?? (await runningAddress(data_dir).catch(() => undefined));
  if (address === undefined) return undefined;
  const database = openDatabase({ url: address, poolSize: 1, timeoutMs: timeout_ms, applicationName: 'config' });
  try {
    const store = new PostgresCatalogStore(database);
    const known: NamedTool[] = [];
    for (const { server } of await store.servers()) known.push(...(await store.published(server)));
    return known;
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  } finally {
    await database.close();
  }
}
