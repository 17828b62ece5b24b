// Translates tool definitions to Gemini's function declarations, and OpenAI's tool_choice to its calling mode.
import { keptFor } from '#libs/kept/kept-for.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import type { ModelRequest } from '../model-provider.js';
import type { ToolNames } from '../conversation/tool-names.js';
import type { Warnings } from '../conversation/warnings.js';
import { toGeminiSchema } from './to-gemini-schema.js';

export interface ToolRules {
  names: ToolNames;
  warnings: Warnings;
}

/** The members of the body about tools; undefined if there are none. */
export function toGeminiTools(request: ModelRequest, rules: ToolRules): { tools: unknown; toolConfig: unknown } {
  if (request.tools.length === 0) return { tools: undefined, toolConfig: undefined };
  const mode = toCallingMode(request, rules.names);
  return {
    tools: [{ functionDeclarations: request.tools.map((tool) => toDeclaration(tool, rules)) }],
    toolConfig: mode === undefined ? undefined : { functionCallingConfig: mode },
  };
}

function toCallingMode({ toolChoice }: ModelRequest, names: ToolNames): JsonObject | undefined {
  if (toolChoice === undefined) return undefined;
  if (typeof toolChoice === 'object') return { mode: 'ANY', allowedFunctionNames: [names.toWire(toolChoice.name)] };
  return { mode: toolChoice === 'required' ? 'ANY' : toolChoice.toUpperCase() };
}

interface Declared {
  declaration: { name: string; description: string | undefined; parametersJsonSchema: JsonObject | undefined };
  /** Set if the schema lost something. */
  warning: string | undefined;
}

function toDeclaration(tool: ToolDefinition, rules: ToolRules): Declared['declaration'] {
  const declared = declare(tool, rules.names.toWire(tool.name));
  if (declared.warning !== undefined) rules.warnings.add(declared.warning, 'tools');
  return declared.declaration;
}

/** Lost lengths need no warning: they carry little meaning, and the gateway checks arguments. */
const lengths = new Set(['minLength', 'maxLength']);

/** Definitions are the same objects in every request, so each is translated once. */
const declare = keptFor((tool: ToolDefinition, name: string): Declared => {
  const { schema, lost: keywords } = toGeminiSchema(tool.parameters ?? { type: 'object' });
  const lost = keywords.filter((keyword) => !lengths.has(keyword));
  const declaration = {
    name,
    description: tool.description || undefined,
    parametersJsonSchema: takesArguments(schema) ? schema : undefined,
  };
  const warning = lost.length > 0 ? lostKeywords(`the parameters of tool '${tool.name}'`, lost) : undefined;
  return { declaration, warning };
});

export const lostKeywords = (where: string, keywords: readonly string[]): string =>
  `Gemini does not support these keywords of JSON Schema, so they were left out of ${where}: ${keywords.join(', ')}`;

/** A function without arguments must have no schema. */
function takesArguments({ type, properties, additionalProperties }: JsonObject): boolean {
  const hasMembers = isJsonObject(properties) && Object.keys(properties).length > 0;
  return hasMembers || isJsonObject(additionalProperties) || type !== 'object';
}
