// The catalog of a gateway, and the same with the named sets of the configuration.
import type { Channels } from '#libs/backing/channels.js';
import type { Config } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import { Toolsets } from '#libs/policy/toolset.js';
import type { Database } from '#libs/postgres/open-database.js';
import { PostgresCatalogStore } from '#libs/runs/catalog/postgres-catalog-store.js';
import { MemoryToolCatalog } from './memory-tool-catalog.js';
import { ToolsetCatalog } from './toolset-catalog.js';

interface CatalogParts {
  database: Database;
  channels: Channels;
  logger: Logger;
}

export function openCatalog({ toolsets: settings }: Pick<Config, 'toolsets'>, parts: CatalogParts) {
  const toolsets = new Toolsets(settings);
  const catalog = new MemoryToolCatalog(new PostgresCatalogStore(parts.database), parts.channels, parts.logger);
  return { toolsets, catalog, sets: new ToolsetCatalog(catalog, toolsets) };
}
