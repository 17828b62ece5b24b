// Narrows a tool to one call of it: with some arguments a tool may only read, and a caller may give the call less time.
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';

type ReadingTool = Pick<CatalogTool, 'readOnlyWhen' | 'readOnly'> & Partial<Pick<CatalogTool, 'safe' | 'cacheTtlMs'>>;

/** The tool for a call with `args`: whether the call is safe and read-only, and whether a cached result may answer the call. */
export function toolOfCall<Tool extends ReadingTool>(tool: Tool, args: JsonObject): Tool {
  if (tool.readOnlyWhen === undefined) return tool;
  const onlyReads = Object.entries(tool.readOnlyWhen).every(
    ([name, values]) => !Object.hasOwn(args, name) || values.some((value) => value === args[name]),
  );
  if (onlyReads) return { ...tool, safe: true, readOnly: true };
  const { cacheTtlMs: _ofReadingCalls, ...unkept } = tool;
  return unkept as Tool;
}

/** The tool as its server's catalog has it: the one that is called, whatever a toolset shows. */
export const realTool = (tool: CatalogTool): CatalogTool => tool.aliasOf ?? tool;

/** The tool with the time that a caller gives its call, at most the tool's own maximum. */
export function toolWithin(tool: CatalogTool, timeoutMs: number | undefined): CatalogTool {
  if (timeoutMs === undefined) return tool;
  const bounded = Math.min(timeoutMs, tool.maxTimeoutMs);
  return { ...tool, timeoutMs: bounded, maxTimeoutMs: bounded };
}
