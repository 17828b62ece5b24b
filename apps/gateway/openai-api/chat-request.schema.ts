// The schema of a chat completions request. Unknown members stay, for the upstream. It uses zod, because class-validator
// costs more than the framework on this route.
import { z } from 'zod';
import { gatewayFields, modelName, toolName } from '../chat-apis/gateway-fields.js';
import { promptPart, resourcePart } from '../chat-apis/offer-part-schemas.js';
import { mcpChoice, mcpTool } from '../chat-apis/mcp-tool.js';

const text = z.string();

const imageUrl = z.string().regex(/^(https?:\/\/|data:)/i, 'must be an http, https or data URL');
const knownParts: Record<string, z.ZodType> = {
  text: z.looseObject({ text }),
  refusal: z.looseObject({ refusal: text }),
  image_url: z.looseObject({ image_url: z.looseObject({ url: imageUrl }) }),
  input_audio: z.looseObject({ input_audio: z.looseObject({ data: text, format: text }) }),
  file: z.looseObject({ file: z.looseObject({}) }),
  mcp_resource: resourcePart,
  mcp_prompt: promptPart,
};
/** Unknown types of parts pass unchanged. */
const contentPart = z.looseObject({ type: z.string().min(1).max(64) }).superRefine((part, context) => {
  const checked = Object.hasOwn(knownParts, part.type) ? knownParts[part.type]!.safeParse(part) : undefined;
  for (const issue of checked?.error?.issues ?? []) {
    context.addIssue({ code: 'custom', path: issue.path, message: issue.message });
  }
});
const content = z.union([text, z.array(contentPart).min(1)], { error: 'must be a string or a list of content parts' });
const name = text.optional();

const callId = z.string().min(1).max(256);
const calledName = z.string().min(1).max(256);
const calledFunction = z.looseObject({ name: calledName, arguments: text });
const toolCall = z.discriminatedUnion(
  'type',
  [
    z.looseObject({ id: callId, type: z.literal('function').default('function'), function: calledFunction }),
    z.looseObject({ id: callId, type: z.literal('custom'), custom: z.looseObject({ name: calledName, input: text }) }),
  ],
  { error: 'must be function or custom' },
);

const messages = z.discriminatedUnion(
  'role',
  [
    z.looseObject({ role: z.literal('system'), content, name }),
    z.looseObject({ role: z.literal('developer'), content, name }),
    z.looseObject({ role: z.literal('user'), content, name }),
    z
      .looseObject({
        role: z.literal('assistant'),
        content: content.nullable().default(null),
        tool_calls: z.array(toolCall).min(1).optional(),
        function_call: calledFunction.optional(),
        name,
      })
      .refine(
        (message) => new Set(message.tool_calls?.map((call) => call.id)).size === (message.tool_calls?.length ?? 0),
        {
          path: ['tool_calls'],
          message: 'has the same id twice',
        },
      )
      .refine((message) => message.tool_calls === undefined || message.function_call === undefined, {
        path: ['function_call'],
        message: 'cannot be combined with tool_calls',
      }),
    z.looseObject({ role: z.literal('tool'), content, tool_call_id: callId }),
    z.looseObject({ role: z.literal('function'), content: content.nullable().default(null), name: calledName }),
  ],
  { error: 'must be one of system, developer, user, assistant, tool, function' },
);

const givenFunction = z.looseObject({
  name: toolName,
  description: text.nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
});
const functionTool = z.looseObject({ type: z.literal('function'), function: givenFunction });
const customTool = z.looseObject({
  type: z.literal('custom'),
  custom: z.looseObject({
    name: toolName,
    description: text.nullish(),
    format: z
      .discriminatedUnion('type', [
        z.looseObject({ type: z.literal('text') }),
        z.looseObject({
          type: z.literal('grammar'),
          grammar: z.looseObject({ syntax: text.max(64), definition: text }),
        }),
      ])
      .nullish(),
  }),
});

const namedChoice = [
  z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: calledName }) }),
  z.looseObject({ type: z.literal('custom'), custom: z.looseObject({ name: calledName }) }),
  mcpChoice,
] as const;
const toolChoice = z.union(
  [
    z.enum(['auto', 'none', 'required']),
    z.discriminatedUnion(
      'type',
      [
        ...namedChoice,
        z.looseObject({
          type: z.literal('allowed_tools'),
          allowed_tools: z.looseObject({
            mode: z.enum(['auto', 'required']),
            tools: z
              .array(z.discriminatedUnion('type', namedChoice, { error: 'must be of type function, custom or mcp' }))
              .min(1)
              .max(1024),
          }),
        }),
      ],
      { error: 'must be auto, none, required, or a function, custom or mcp tool, or allowed_tools' },
    ),
  ],
  { error: 'must be auto, none, required, or a tool by its name' },
);

export const chatRequestSchema = z.looseObject({
  model: modelName.optional(),
  messages: z.array(messages).min(1),
  tools: z
    .array(
      z.discriminatedUnion('type', [functionTool, customTool, mcpTool], {
        error: 'must be of type function, custom or mcp',
      }),
    )
    .optional(),
  tool_choice: toolChoice.optional(),
  functions: z.array(givenFunction).optional(),
  function_call: z
    .union([z.enum(['auto', 'none']), z.looseObject({ name: calledName })], {
      error: 'must be auto, none, or a function by its name',
    })
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  stream: z.boolean().optional(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).optional(),
  n: z.number().int().min(1).max(128).optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  max_tokens: z.number().int().min(1).optional(),
  max_completion_tokens: z.number().int().min(1).optional(),
  presence_penalty: z.number().min(-2).max(2).optional(),
  frequency_penalty: z.number().min(-2).max(2).optional(),
  stop: z.union([text, z.array(text).max(16)]).optional(),
  seed: z.number().int().optional(),
  logprobs: z.boolean().optional(),
  top_logprobs: z.number().int().min(0).max(20).optional(),
  logit_bias: z.record(z.string(), z.number()).optional(),
  response_format: z.looseObject({ type: text }).optional(),
  reasoning_effort: text.max(32).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  user: text.max(1024).optional(),
  ...gatewayFields,
});

export type ChatRequestBody = z.output<typeof chatRequestSchema>;

/** OpenAI's parameters that are passed to the model unchanged. */
export const forwardedParameters = [
  'n',
  'temperature',
  'top_p',
  'max_tokens',
  'max_completion_tokens',
  'presence_penalty',
  'frequency_penalty',
  'stop',
  'seed',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'response_format',
  'reasoning_effort',
  'metadata',
  'user',
] as const satisfies readonly (keyof ChatRequestBody)[];
