// Translates tool definitions to Gemini's function declarations, and OpenAI's tool_choice to its calling mode.
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import type { ModelRequest } from '../model-provider.js';
import type { ToolNames } from '../conversation/tool-names.js';
import { hasPlainReferences, toGeminiJsonSchema } from './to-gemini-json-schema.js';
import { toGeminiSchema } from './to-gemini-schema.js';

/** Receives the keywords of a tool's schema that were left out. */
export type ReportLost = (tool: string, keywords: readonly string[]) => void;

export interface ToolRules {
  names: ToolNames;
  /** Whether the model also accepts JSON Schema. */
  jsonSchema: boolean;
  report: ReportLost;
}

export function toGeminiTools(request: ModelRequest, rules: ToolRules): JsonObject {
  if (request.tools.length === 0) return {};
  const functionDeclarations = request.tools.map((tool) => toDeclaration(tool, rules));
  const mode = toCallingMode(request, rules.names);
  return {
    tools: [{ functionDeclarations }],
    ...(mode !== undefined && { toolConfig: { functionCallingConfig: mode } }),
  };
}

function toCallingMode({ toolChoice }: ModelRequest, names: ToolNames): JsonObject | undefined {
  if (toolChoice === undefined) return undefined;
  if (typeof toolChoice === 'object') return { mode: 'ANY', allowedFunctionNames: [names.toWire(toolChoice.name)] };
  return { mode: toolChoice === 'required' ? 'ANY' : toolChoice.toUpperCase() };
}

/** Definitions are the same objects in every request, so each is translated once. */
const written = new WeakMap<ToolDefinition, { declaration: JsonObject; jsonSchema: boolean }>();

function toDeclaration(tool: ToolDefinition, { names, jsonSchema, report }: ToolRules): JsonObject {
  const name = names.toWire(tool.name);
  const known = written.get(tool);
  if (known?.jsonSchema === jsonSchema && known.declaration['name'] === name) return known.declaration;
  const { form, schema, lost } = toSchemaForm(tool.parameters ?? {}, jsonSchema);
  if (lost.length > 0) report(tool.name, lost);
  const { description } = tool;
  const declaration: JsonObject = {
    name,
    ...(description && { description }),
    ...(takesArguments(schema) && { [form === 'openApi' ? 'parameters' : 'parametersJsonSchema']: schema }),
  };
  written.set(tool, { declaration, jsonSchema });
  return declaration;
}

export interface SchemaForm {
  form: 'openApi' | 'jsonSchema';
  schema: JsonObject;
  lost: readonly string[];
}

/** The OpenAPI subset, or JSON Schema if that loses less and the model accepts it. */
export function toSchemaForm(schema: JsonObject, takesJsonSchema: boolean): SchemaForm {
  const subset = toGeminiSchema(schema);
  if (!subset.needsJsonSchema || !takesJsonSchema || !hasPlainReferences(schema)) return { form: 'openApi', ...subset };
  return { form: 'jsonSchema', ...toGeminiJsonSchema(schema) };
}

/** A function without arguments must have no schema. */
function takesArguments(schema: JsonObject): boolean {
  const { properties } = schema;
  return schema['type'] !== 'object' || isJsonObject(schema['additionalProperties']) || isJsonObject(properties);
}
