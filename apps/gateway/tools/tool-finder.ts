// Finds tools of a list for a query: by words, and where tools are known by what they mean, by that too. Whoever offers tools to models or
// MCP clients finds them here and nowhere else.
import { fuseRanks } from '#libs/embeddings/fuse-ranks.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { toolIndexOf } from '#libs/tool-search/tool-index.js';
import type { SearchOptions } from './tool-catalog.js';
import type { ToolMeanings } from './tool-meanings.js';

/** How far down each of the two rankings is read. */
const maxRanked = 50;

export class ToolFinder {
  constructor(private readonly meanings?: Pick<ToolMeanings, 'nearest'>) {}

  /** Best first. @throws the signal's reason */
  async find(
    query: string,
    tools: readonly CatalogTool[],
    { limit, isShown, signal }: SearchOptions,
  ): Promise<readonly CatalogTool[]> {
    const index = toolIndexOf(tools);
    await index.prepare();
    signal.throwIfAborted();
    const byWords = (most: number) => index.find(query, { limit: most, isShown });
    if (this.meanings === undefined) return byWords(limit).map(({ tool }) => tool);
    const near = await this.meanings.nearest(query, tools.filter(isShown), signal);
    const words = byWords(Math.max(limit, maxRanked)).map(({ tool }) => tool);
    return fuseRanks([words, near])
      .slice(0, limit)
      .map(({ item }) => item);
  }
}
