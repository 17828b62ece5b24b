// The schema of OpenAI's responses request (https://platform.openai.com/docs/api-reference/responses/create). Unsupported
// members that would change the answer are refused; hints for OpenAI's own service are ignored.
import { z } from 'zod';
import { gatewayFields, modelName, toolName } from '../chat-apis/gateway-fields.js';
import { mcpChoice, mcpTool } from '../chat-apis/mcp-tool.js';
import { promptPart, resourcePart } from '../chat-apis/offer-part-schemas.js';
import { otherThan, typedAs } from '../chat-apis/other-types.js';

const text = z.string();
const callId = z.string().min(1).max(256);
const calledName = z.string().min(1).max(256);
const unsupported = (what: string) => z.undefined({ error: `is not supported: ${what}` }).optional();

const parts = {
  input_text: typedAs('input_text', { text }),
  output_text: typedAs('output_text', { text }),
  refusal: typedAs('refusal', { refusal: text }),
  input_image: typedAs('input_image', {
    image_url: z.string().regex(/^(https?:\/\/|data:)/i, 'must be an http, https or data URL'),
    detail: text.max(32).nullish(),
  }),
  input_file: typedAs('input_file', { filename: text.max(512).nullish(), file_data: text }),
};
const inputPart = z.discriminatedUnion(
  'type',
  [parts.input_text, parts.output_text, parts.refusal, parts.input_image, parts.input_file, resourcePart, promptPart],
  { error: 'must be input_text, input_image, input_file, output_text, refusal, mcp_resource or mcp_prompt' },
);
const outputParts = [parts.input_text, parts.input_image, parts.input_file] as const;
const outputPart = z.union([z.discriminatedUnion('type', outputParts), otherThan(outputParts)]);
const output = z.union([text, z.array(outputPart)]);

const namespace = z.string().min(1).max(128).nullish();

const functionTool = typedAs('function', {
  name: toolName,
  description: text.nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
});

const customTool = typedAs('custom', {
  name: toolName,
  description: text.nullish(),
  format: z
    .discriminatedUnion('type', [typedAs('text', {}), typedAs('grammar', { syntax: text.max(64), definition: text })])
    .nullish(),
});
const namespaceTool = typedAs('namespace', {
  name: toolName,
  description: text.nullish(),
  tools: z
    .array(z.discriminatedUnion('type', [functionTool, customTool], { error: 'must be of type function or custom' }))
    .max(1024),
});
const knownTools = [functionTool, customTool, namespaceTool, mcpTool] as const;
const tool = z.union([z.discriminatedUnion('type', knownTools), otherThan(knownTools)]);

const namedChoices = [
  typedAs('function', { name: calledName, namespace }),
  typedAs('custom', { name: calledName, namespace }),
  mcpChoice,
] as const;
const namedChoice = z.union([z.discriminatedUnion('type', namedChoices), otherThan(namedChoices)]);
const allowedTools = typedAs('allowed_tools', {
  mode: z.enum(['auto', 'required']),
  tools: z.array(namedChoice).min(1).max(1024),
});
const toolChoices = [...namedChoices, allowedTools] as const;
const toolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.discriminatedUnion('type', toolChoices),
  otherThan(toolChoices),
]);

const message = typedAs('message', {
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.union([text, z.array(inputPart)]),
});
const additionalTools = typedAs('additional_tools', { tools: z.array(tool) });
const knownItems = [
  message,
  typedAs('function_call', { call_id: callId, name: calledName, namespace, arguments: text }),
  typedAs('function_call_output', { call_id: callId, output }),
  typedAs('custom_tool_call', { call_id: callId, name: calledName, namespace, input: text }),
  typedAs('custom_tool_call_output', { call_id: callId, output }),
  additionalTools,
  typedAs('reasoning', {
    summary: z.array(z.looseObject({ text })),
    content: z.array(z.looseObject({ text })).nullish(),
  }),
  typedAs('mcp_call', {
    id: callId,
    name: calledName,
    arguments: text,
    output: text.nullish(),
    error: z.union([text, z.looseObject({ content: z.array(z.looseObject({ text })).nullish() })]).nullish(),
  }),
  typedAs('mcp_list_tools', {}),
] as const;
const items = z.union([
  z.discriminatedUnion('type', knownItems, { error: 'must be an item of a response' }),
  otherThan(knownItems, { item_reference: 'is not supported: send the item itself, or use previous_response_id' }),
]);
/** A message may omit its type. */
const item = z.preprocess(
  (given) =>
    typeof given === 'object' && given !== null && 'role' in given && !('type' in given)
      ? { ...given, type: 'message' }
      : given,
  items,
);

const textFormat = z.discriminatedUnion(
  'type',
  [
    typedAs('text', {}),
    typedAs('json_object', {}),
    typedAs('json_schema', {
      name: z.string().min(1).max(64),
      schema: z.record(z.string(), z.unknown()),
      description: text.nullish(),
      strict: z.boolean().nullish(),
    }),
  ],
  { error: 'must be of type text, json_object or json_schema' },
);

export const responseRequestSchema = z.looseObject({
  model: modelName.optional(),
  input: z.union([text, z.array(item).min(1)]).optional(),
  instructions: text.optional(),
  previous_response_id: z.string().min(1).max(256).optional(),
  store: z.boolean().optional(),
  stream: z.boolean().optional(),
  tools: z.array(tool).optional(),
  tool_choice: toolChoice.optional(),
  parallel_tool_calls: z.boolean().optional(),
  max_output_tokens: z.number().int().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  text: z.looseObject({ format: textFormat.nullish(), verbosity: text.max(32).nullish() }).optional(),
  reasoning: z.looseObject({ effort: text.max(32).nullish(), summary: text.max(32).nullish() }).optional(),
  metadata: z.record(z.string(), text).optional(),
  user: text.max(1024).optional(),
  background: z.literal(false, { error: 'is not supported: use on_disconnect "detach"' }).optional(),
  conversation: unsupported('use previous_response_id'),
  prompt: unsupported('there are no stored prompts'),
  max_tool_calls: unsupported('use max_tool_rounds'),
  ...gatewayFields,
});

export type BodyToolChoice = z.output<typeof toolChoice>;
export type OutputPart = z.output<typeof outputPart>;
export type ResponseRequestBody = z.output<typeof responseRequestSchema>;
export type InputItem = z.output<typeof items>;
export type MessageItem = z.output<typeof message>;
export type InputPart = z.output<typeof inputPart>;
