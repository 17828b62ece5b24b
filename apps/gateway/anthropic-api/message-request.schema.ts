// The schema of Anthropic's messages request (https://platform.claude.com/docs/en/api/messages). Members that no provider
// needs (cache hints, service tiers, betas) are ignored.
import { z } from 'zod';
import { gatewayFields, modelName, toolName } from '../chat-apis/gateway-fields.js';
import { promptPart, resourcePart } from '../chat-apis/offer-part-schemas.js';
import { otherThan, typedAs } from '../chat-apis/other-types.js';

const text = z.string();
const base64 = z.string().regex(/^[A-Za-z0-9+/]+={0,2}$/, 'must be base64');
const callId = z.string().min(1).max(256);
const httpUrl = z.string().regex(/^https?:\/\//i, 'must be an http or https URL');

const textBlock = typedAs('text', { text });
const imageBlock = typedAs('image', {
  source: z.discriminatedUnion(
    'type',
    [
      typedAs('base64', { media_type: text.regex(/^image\//i, 'must be an image type'), data: base64 }),
      typedAs('url', { url: httpUrl }),
    ],
    { error: 'must be of type base64 or url' },
  ),
});
const documentBlock = typedAs('document', {
  title: text.max(512).nullish(),
  source: z.discriminatedUnion(
    'type',
    [
      typedAs('base64', { media_type: z.literal('application/pdf'), data: base64 }),
      typedAs('text', { media_type: z.literal('text/plain').optional(), data: text }),
      typedAs('content', { content: z.union([text, z.array(textBlock).min(1)]) }),
      typedAs('url', { url: httpUrl }),
      typedAs('file', { file_id: z.string().min(1).max(256) }),
    ],
    { error: 'must be of type base64, text, content, url or file' },
  ),
});

const resultBlocks = [textBlock, imageBlock, documentBlock] as const;
const resultContent = z
  .union([text, z.array(z.union([z.discriminatedUnion('type', resultBlocks), otherThan(resultBlocks)]))])
  .nullish();
const toolResult = typedAs('tool_result', {
  tool_use_id: callId,
  content: resultContent,
  is_error: z.boolean().nullish(),
});

const ofAssistant = 'is only allowed in an assistant message';
const notOfUser = { tool_use: ofAssistant, thinking: ofAssistant, redacted_thinking: ofAssistant };
const userBlocks = [...resultBlocks, toolResult, resourcePart, promptPart] as const;
const userBlock = z.union([z.discriminatedUnion('type', userBlocks), otherThan(userBlocks, notOfUser)]);
const input = z.record(z.string(), z.unknown());
const assistantBlocks = [
  textBlock,
  typedAs('thinking', { thinking: text }),
  typedAs('redacted_thinking', {}),
  typedAs('tool_use', { id: callId, name: z.string().min(1).max(256), input }),
  typedAs('mcp_tool_use', { id: callId, name: z.string().min(1).max(256), input }),
  typedAs('mcp_tool_result', {
    tool_use_id: callId,
    content: z.union([text, z.array(textBlock)]).nullish(),
    is_error: z.boolean().nullish(),
  }),
] as const;
const assistantBlock = z.union([
  z.discriminatedUnion('type', assistantBlocks),
  otherThan(assistantBlocks, { tool_result: 'is only allowed in a user message' }),
]);

const message = z.discriminatedUnion(
  'role',
  [
    z.looseObject({ role: z.literal('user'), content: z.union([text.min(1), z.array(userBlock).min(1)]) }),
    z.looseObject({ role: z.literal('assistant'), content: z.union([text, z.array(assistantBlock)]) }),
    z.looseObject({ role: z.literal('system'), content: z.union([text, z.array(textBlock).min(1)]) }),
  ],
  { error: 'must be user, assistant or system' },
);

const customTool = typedAs('custom', {
  name: toolName,
  description: text.nullish(),
  input_schema: z.record(z.string(), z.unknown()),
  strict: z.boolean().nullish(),
});
const toolset = typedAs('mcp_toolset', {
  mcp_server_name: z.string().min(1).max(64),
  default_config: z.looseObject({ enabled: z.boolean().nullish() }).nullish(),
  configs: z.record(z.string().min(1).max(256), z.looseObject({ enabled: z.boolean().nullish() })).nullish(),
});
const knownTools = [customTool, toolset] as const;
/** A tool without a type is a custom one. */
const tool = z.preprocess(
  (given) =>
    typeof given === 'object' && given !== null && !('type' in given && given.type !== null)
      ? { ...given, type: 'custom' }
      : given,
  z.union([z.discriminatedUnion('type', knownTools), otherThan(knownTools)]),
);

const parallel = { disable_parallel_tool_use: z.boolean().nullish() };
const toolChoice = z.discriminatedUnion(
  'type',
  [
    typedAs('auto', { ...parallel }),
    typedAs('any', { ...parallel }),
    typedAs('none', {}),
    typedAs('tool', { name: z.string().min(1).max(256), ...parallel }),
  ],
  { error: 'must be of type auto, any, none or tool' },
);

const thinking = z.looseObject({ type: text.max(64), budget_tokens: z.number().int().min(1).nullish() });
const outputFormat = typedAs('json_schema', { schema: z.record(z.string(), z.unknown()) });

export const messageRequestSchema = z.looseObject({
  model: modelName.optional(),
  max_tokens: z.number().int().min(1),
  messages: z.array(message).min(1),
  system: z.union([text, z.array(textBlock)]).optional(),
  tools: z.array(tool).optional(),
  tool_choice: toolChoice.optional(),
  mcp_servers: z
    .array(z.unknown())
    .max(0, 'is not supported: servers are defined in the configuration; name one with an mcp_toolset in tools')
    .optional(),
  thread: z.undefined({ error: 'is not supported: send all messages' }).optional(),
  stream: z.boolean().optional(),
  stop_sequences: z.array(text).max(16).optional(),
  temperature: z.number().min(0).max(1).optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.number().int().min(0).optional(),
  thinking: thinking.optional(),
  output_config: z
    .looseObject({
      effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(),
      format: outputFormat.nullish(),
    })
    .optional(),
  metadata: z.looseObject({ user_id: text.max(1024).nullish() }).optional(),
  ...gatewayFields,
});

export type MessageRequestBody = z.output<typeof messageRequestSchema>;
export type BodyMessage = MessageRequestBody['messages'][number];
export type AssistantBlock = z.output<typeof assistantBlock>;
export type UserBlock = z.output<typeof userBlock>;
export type ResultContent = z.output<typeof resultContent>;
