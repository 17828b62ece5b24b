// The catalog of a gateway, and the same with the named sets of the configuration.
import type { Backing } from '#libs/backing/backing.js';
import type { Config } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import { Toolsets } from '#libs/policy/toolset.js';
import type { Database } from '#libs/postgres/open-database.js';
import { PostgresCatalogStore } from '#libs/runs/catalog/postgres-catalog-store.js';
import { embeddingsServerOf, openEmbeddings } from '#libs/embeddings/request-embeddings.js';
import { MemoryToolCatalog } from './memory-tool-catalog.js';
import { ToolFinder } from './tool-finder.js';
import { ToolMeanings } from './tool-meanings.js';
import { ToolsetCatalog } from './toolset-catalog.js';

const embedMs = 30_000;

interface CatalogParts {
  database: Database;
  backing: Pick<Backing, 'channels' | 'cache'>;
  logger: Logger;
}

export function openCatalog(config: Pick<Config, 'toolsets' | 'chimech'>, { database, backing, logger }: CatalogParts) {
  const toolsets = new Toolsets(config.toolsets);
  const catalog = new MemoryToolCatalog(new PostgresCatalogStore(database), backing.channels, logger);
  const server = embeddingsServerOf(config, embedMs);
  const embeddings = server && openEmbeddings(server);
  const meanings = embeddings && new ToolMeanings({ embeddings, cache: backing.cache, logger });
  if (meanings !== undefined) catalog.onChange(({ tools }) => tools && meanings.learn(catalog.list()));
  const sets = new ToolsetCatalog(catalog, toolsets, new ToolFinder(meanings));
  const close = async () => {
    await Promise.all([catalog.close(), meanings?.close()]);
    await embeddings?.close();
  };
  return { toolsets, catalog, sets, closeCatalog: close };
}
