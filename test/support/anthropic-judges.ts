// Test support: the official Anthropic SDK: whole answers, iterated streams, its accumulators and its tool loop.
import Anthropic from '@anthropic-ai/sdk';
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import { fetchWith, type Heard, type Judge, type JudgeTool, type Question } from './chat-judge.js';

const open = ({ baseUrl, extra }: Question) =>
  new Anthropic({ baseURL: baseUrl, apiKey: 'sk-any', maxRetries: 0, timeout: 20_000, fetch: fetchWith(extra) });

const bodyOf = ({ content, tools = [] }: Question) => ({
  model: 'scripted/model',
  max_tokens: 1_000,
  messages: [{ role: 'user' as const, content }],
  ...(tools.length === 0
    ? {}
    : {
        tools: tools.map(({ name, parameters }) => ({
          name,
          input_schema: parameters as Anthropic.Tool.InputSchema,
        })),
      }),
});

const runnable = ({ name, parameters, run }: JudgeTool): BetaRunnableTool => ({
  type: 'custom',
  name,
  input_schema: parameters as Anthropic.Tool.InputSchema,
  run,
  parse: (input: unknown) => input,
});

const loop = (stream: boolean) => async (question: Question) => {
  const { model, max_tokens, messages } = bodyOf(question);
  const tools = (question.tools ?? []).map(runnable);
  const { messages: beta } = open(question).beta;
  const body = { model, max_tokens, messages, tools, max_iterations: 4 };
  if (!stream) return textOf(await beta.toolRunner({ ...body, stream: false }).runUntilDone());
  return textOf(await beta.toolRunner({ ...body, stream: true }).runUntilDone());
};

export const anthropicJudges: Judge[] = [
  {
    name: 'whole',
    hear: async (question) => heardOf(await open(question).messages.create(bodyOf(question))),
    converse: loop(false),
  },
  {
    name: 'iterated',
    hear: iterate,
    converse: loop(true),
  },
  {
    name: '.stream()',
    hear: async (question) => heardOf(await open(question).messages.stream(bodyOf(question)).finalMessage()),
    converse: loop(true),
  },
  {
    name: 'beta .stream()',
    hear: async (question) =>
      heardOf(
        (await open(question).beta.messages.stream(bodyOf(question)).finalMessage()) as unknown as Anthropic.Message,
      ),
    converse: loop(true),
  },
];

const textOf = (message: { content: { type: string }[] }): string =>
  message.content
    .map((block) => (block.type === 'text' ? (block as unknown as { text: string }).text : ''))
    .join('\n\n');

function heardOf(message: Anthropic.Message): Heard {
  if (message.type !== 'message' || message.role !== 'assistant') throw new Error('not a message');
  return {
    text: message.content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('\n\n'),
    finishReasons: message.stop_reason === null ? [] : [message.stop_reason],
    calls: message.content.flatMap((block) =>
      block.type === 'tool_use' ? [{ name: block.name, arguments: block.input }] : [],
    ),
    usage: { input: message.usage.input_tokens, output: message.usage.output_tokens },
  };
}

/** Reads the stream as documented, with no more optional chaining than the types require. */
async function iterate(question: Question): Promise<Heard> {
  const heard: Heard = { text: '', finishReasons: [], calls: [], usage: undefined };
  const texts: string[] = [];
  const inputs = new Map<number, { name: string; text: string }>();
  let stopped = false;
  for await (const event of await open(question).messages.create({ ...bodyOf(question), stream: true })) {
    if (event.type === 'content_block_start') {
      const { content_block: block, index } = event;
      if (block.type === 'tool_use') inputs.set(index, { name: block.name, text: '' });
      if (block.type === 'text') texts.push(block.text);
    } else if (event.type === 'content_block_delta') {
      if (event.delta.type === 'text_delta') texts[texts.length - 1] += event.delta.text;
      if (event.delta.type === 'input_json_delta' && inputs.has(event.index)) {
        inputs.get(event.index)!.text += event.delta.partial_json;
      }
    } else if (event.type === 'message_delta') {
      if (event.delta.stop_reason !== null) heard.finishReasons.push(event.delta.stop_reason);
      heard.usage = { input: event.usage.input_tokens!, output: event.usage.output_tokens };
    } else if (event.type === 'message_stop') stopped = true;
  }
  if (!stopped) throw new Error('the stream ended without message_stop');
  heard.text = texts.join('\n\n');
  heard.calls = [...inputs.values()].map(({ name, text }) => ({ name, arguments: JSON.parse(text) as unknown }));
  return heard;
}
