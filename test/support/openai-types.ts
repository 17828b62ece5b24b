// What a program may write with the types of the OpenAI SDK and those that the client library adds. Only compilers read it:
// of test/contract/openai-types.test.ts with version 6 of the SDK, of newest-sdk.test.ts beside it with version 7.
import type OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import type { McpServerTools, ToolExecution } from '../../clients/typescript/src/index.js';
import type { TypedChunk, WithServerTools } from '../../clients/typescript/src/openai.js';

const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hello' }];
const workspace: McpServerTools = { type: 'mcp', server_label: 'workspace' };
const own: OpenAI.ChatCompletionTool = { type: 'function', function: { name: 'own' } };
const request = { model: 'default', messages };
const form = { response_format: zodResponseFormat(z.object({ sum: z.number() }), 'sums') };

export async function chats({ chat: { completions } }: OpenAI): Promise<(ToolExecution | undefined)[]> {
  const answer = await completions.create({
    ...request,
    tools: [{ type: 'mcp', server_label: 'workspace', require_approval: { always: { read_only: false } } }, own],
    tool_choice: { type: 'mcp', server_label: 'workspace' },
    session_id: 'shopping',
    approval: 'return',
    priority: 'batch',
  });
  const written: WithServerTools<OpenAI.ChatCompletionCreateParamsNonStreaming> = { ...request, tools: [workspace] };
  const plain: OpenAI.ChatCompletionCreateParamsNonStreaming = { ...request, session_id: 'shopping' };
  const { data, response } = await completions.create(written).withResponse();
  const parsed = await completions.parse({ ...plain, ...form });
  const answers: OpenAI.ChatCompletion[] = [answer, data, await completions.create(plain), parsed];
  const said: (string | null | undefined)[] = [
    answer.warnings?.[0]?.param,
    answer.choices[0]?.message.reasoning_content,
    response.headers.get('x-run-id'),
    parsed.choices[0]?.message.parsed?.sum.toFixed(),
  ];
  void said;
  return answers.map((each) => each.tool_execution);
}

export async function streams({ chat: { completions } }: OpenAI, params: OpenAI.ChatCompletionCreateParams) {
  for await (const chunk of await completions.create({ ...request, tools: [workspace], stream: true })) textOf(chunk);
  const either = await completions.create(params);
  if ('choices' in either) return either.tool_execution?.rounds;
  const sums = completions.stream({ ...request, ...form, tools: [workspace] });
  sums.on('chunk', (chunk) => chunk.choices[0]?.delta.reasoning_content);
  const unread: null | undefined = (await completions.stream(request).finalChatCompletion()).choices[0]?.message.parsed;
  return unread ?? (await sums.finalChatCompletion()).choices[0]?.message.parsed?.sum;
}

function textOf(chunk: TypedChunk): string | null | undefined {
  switch (chunk.type) {
    case undefined:
      return chunk.choices[0]?.delta.content;
    case 'tool_result':
      return chunk.result.content;
    case 'approval_required':
      return chunk.approval.reason;
    case 'done':
      return `${chunk.finish_reason} after ${chunk.usage.total_tokens}`;
    default:
      return chunk.id;
  }
}

export async function responses({ responses: { create } }: OpenAI): Promise<number | undefined> {
  const response = await create({
    model: 'default',
    input: 'Hello',
    tools: [{ type: 'mcp', server_label: 'workspace' }],
    session_id: 'shopping',
  });
  return response.tool_execution?.rounds;
}

export function mistakes({ chat: { completions } }: OpenAI): unknown[] {
  return [
    // @ts-expect-error -- a name that the gateway does not know
    completions.create({ ...request, sesion_id: 'shopping' }),
    // @ts-expect-error -- a session has a name
    completions.create({ ...request, session_id: 1 }),
    // @ts-expect-error -- a server is named
    completions.create({ ...request, tools: [{ type: 'mcp' }] }),
    // @ts-expect-error -- the SDK demands a model
    completions.create({ messages, session_id: 'shopping' }),
    // @ts-expect-error -- the SDK reads no other tools there, and refuses them when it runs
    completions.parse({ ...request, tools: [workspace] }),
  ];
}
