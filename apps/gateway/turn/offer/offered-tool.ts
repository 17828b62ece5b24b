// A tool as a turn offers it to its model.
import { keptFor } from '#libs/kept/kept-for.js';
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
export const definitionOf = keptFor(({ name, description, inputSchema: parameters }: CatalogTool): ToolDefinition => ({
  name,
  description,
  parameters,
}));
