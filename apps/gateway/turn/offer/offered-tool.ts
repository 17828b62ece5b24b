// A tool as a turn offers it to its model.
import type { CatalogTool, ToolDefinition } from '#libs/schemas/tool-definition.js';

/** A tool that the model may call. Without `tool`, its calls go back to the caller. */
export interface OfferedTool {
  definition: ToolDefinition;
  tool?: CatalogTool;
  /** The request requires an approval of each call, regardless of the policy. */
  requiresApproval?: boolean;
  /** The caller's own call of the tool has arguments that a model wrote. */
  fromModel?: boolean;
}

/** One definition object per catalog tool: each model's form of a definition is cached by that object. */
const definitions = new WeakMap<CatalogTool, ToolDefinition>();

export function definitionOf(tool: CatalogTool): ToolDefinition {
  const known = definitions.get(tool);
  if (known !== undefined) return known;
  const definition = { name: tool.name, description: tool.description, parameters: tool.inputSchema };
  definitions.set(tool, definition);
  return definition;
}
