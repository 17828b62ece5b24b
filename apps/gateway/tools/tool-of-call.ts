// What holds of one call where it does not of all calls of its tool: a tool may only read with some arguments.
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';

/** The tool as this call of it is treated: whether it may run again, beside others, and be answered from a kept result. */
export function toolOfCall(tool: CatalogTool, args: JsonObject): CatalogTool {
  if (tool.readOnlyWhen === undefined) return tool;
  const onlyReads = Object.entries(tool.readOnlyWhen).every(
    ([name, values]) => !Object.hasOwn(args, name) || values.some((value) => value === args[name]),
  );
  if (onlyReads) return { ...tool, safe: true, readOnly: true };
  const { cacheTtlMs: _ofReadingCalls, ...unkept } = tool;
  return unkept;
}
