// The forms of chat completions that models do not know: custom tools and `functions`.
import { expect } from 'vitest';
import { readConfig } from '#libs/config/read-config.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { faultOf } from '../../../test/support/fault-of.js';
import { verifies } from '../../../test/verifies.js';
import { EventsSseRenderer } from './render-events.js';
import { CompletionFold, renderingOf } from './render-json.js';
import { OpenAiSseRenderer } from './render-sse.js';
import { readChatRequest } from './read-request.js';

const { limits } = readConfig({ environment: {} });
const read = (body: object) => readChatRequest({ messages: [user], ...body }, 'openai', limits);
const user = { role: 'user', content: 'x' };

const lark = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "+"' } };
const patch = { type: 'custom', custom: { name: 'patch', description: 'Edits files', format: lark } };
const weather = { name: 'weather', description: 'Tells it', parameters: { type: 'object', properties: {} } };

/** A call of each of these functions, its arguments in pieces. */
function turnWith(...names: string[]): TurnEvent[] {
  const calls = names.flatMap((name, index): TurnEvent[] => {
    const of = { type: 'tool_call' as const, index, clientIndex: index };
    const pieces = ['{"inp', 'ut":"*** a\\', 'nb', '"}'];
    return [
      { ...of, id: `call_${index}`, name, arguments: '' },
      ...pieces.map((piece) => ({ ...of, arguments: piece })),
    ];
  });
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  return [{ type: 'start', model: 'm', runId: 'run_1' }, ...calls, { type: 'done', finishReason: 'tool_calls', usage }];
}

function answers(body: object, events: TurnEvent[]) {
  const rendering = renderingOf({ id: 'run_1', createdAt: new Date(0) }, read(body));
  const fold = new CompletionFold(rendering);
  for (const event of events) fold.add(event);
  const strict = new OpenAiSseRenderer(rendering, false);
  const typed = new EventsSseRenderer(rendering);
  const chunks = (text: string) => [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!) as Chunk);
  return {
    whole: (fold.answer['choices'] as { message: JsonObject; finish_reason: string }[])[0]!,
    streams: [
      chunks(events.map((event) => strict.render(event)).join('')),
      chunks(events.map((event, at) => typed.render(event, at + 1)).join('')),
    ],
  };
}

interface Chunk {
  type?: string;
  finish_reason?: string;
  choices: { delta: JsonObject; finish_reason: string | null }[];
}

const deltas = (chunks: Chunk[], member: string) =>
  chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => (delta[member] === undefined ? [] : [delta[member]])));
const reasons = (chunks: Chunk[]) =>
  chunks.flatMap(({ choices }) => choices.flatMap(({ finish_reason: reason }) => reason ?? []));

verifies('chat.custom-tools', 'offered as a function that is told the grammar', () => {
  const [tool] = read({ tools: [patch] }).tools;
  expect(tool).toMatchObject({
    definition: { name: 'patch', parameters: { properties: { input: { type: 'string' } }, required: ['input'] } },
  });
  const { description } = (tool as { definition: { description: string } }).definition;
  expect(description).toBe('Edits files\n\nThe input must match this lark grammar:\nstart: "+"');
  const large = { ...lark, grammar: { syntax: 'lark', definition: 'x'.repeat(limits.tool_schema_bytes + 1) } };
  const custom = { ...patch.custom, format: large };
  expect(faultOf(() => read({ tools: [{ type: 'custom', custom }] }))).toMatchObject({ param: 'tools[0].custom' });
  expect(faultOf(() => read({ tools: [patch, patch] }))).toMatchObject({ param: 'tools[1].custom.name' });
});

verifies('chat.custom-tools', 'answered as custom calls, whole and streamed, beside calls of functions', () => {
  const tools = [patch, { type: 'function', function: weather }];
  const { whole, streams } = answers({ tools }, turnWith('patch', 'weather'));
  expect(whole.message['tool_calls']).toEqual([
    { id: 'call_0', type: 'custom', custom: { name: 'patch', input: '*** a\nb' } },
    { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"input":"*** a\\nb"}' } },
  ]);
  for (const chunks of streams) {
    const calls = deltas(chunks, 'tool_calls').flat() as { index: number; custom?: { input: string } }[];
    expect(calls[0]).toEqual({ index: 0, id: 'call_0', type: 'custom', custom: { name: 'patch', input: '' } });
    const pieces = calls.filter(({ index }) => index === 0).map(({ custom }) => custom!.input);
    expect([pieces.join(''), pieces.length]).toEqual(['*** a\nb', 3]);
    expect(reasons(chunks)).toEqual(['tool_calls']);
  }
});

verifies('chat.custom-tools', 'read back as the call of the function', () => {
  const calls = [{ id: 'a', type: 'custom', custom: { name: 'patch', input: '+\n' } }];
  const result = { role: 'tool', tool_call_id: 'a', content: 'ok' };
  const { messages } = read({ messages: [user, { role: 'assistant', tool_calls: calls }, result] });
  expect(messages).toEqual([
    user,
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'patch', arguments: '{"input":"+\\n"}' } }],
    },
    result,
  ]);
});

verifies('chat.functions', 'one function_call, whole and streamed', () => {
  const { whole, streams } = answers({ functions: [weather] }, turnWith('weather', 'weather'));
  const called = { name: 'weather', arguments: '{"input":"*** a\\nb"}' };
  expect(whole).toMatchObject({ message: { content: null, function_call: called }, finish_reason: 'function_call' });
  expect(whole.message).not.toHaveProperty('tool_calls');
  const [strict, typed] = streams as [Chunk[], Chunk[]];
  for (const chunks of [strict, typed]) {
    const calls = deltas(chunks, 'function_call') as { name?: string; arguments: string }[];
    expect(calls[0]).toEqual({ name: 'weather', arguments: '' });
    expect(calls.map(({ arguments: piece }) => piece).join('')).toBe(called.arguments);
    expect(deltas(chunks, 'tool_calls')).toEqual([]);
    expect(reasons(chunks)).toEqual(['function_call']);
  }
  expect(typed.at(-1)).toMatchObject({ type: 'done', finish_reason: 'function_call' });
});

verifies('chat.functions', 'function_call as the choice, and results by the name of their call, in order', () => {
  expect(read({ functions: [weather], function_call: 'none' }).toolChoice).toBe('none');
  expect(read({ functions: [weather], function_call: { name: 'weather' } }).toolChoice).toEqual({ name: 'weather' });
  const call = (city: string) => ({
    role: 'assistant',
    content: null,
    function_call: { name: 'weather', arguments: `{"city":"${city}"}` },
  });
  const result = (content: string) => ({ role: 'function', name: 'weather', content });
  const { messages } = read({
    messages: [user, call('a'), call('b'), result('A'), result('B'), call('c'), result('C')],
  });
  const reported = messages.flatMap((message) =>
    message.role === 'assistant'
      ? message.tool_calls!.map(({ id, function: { arguments: args } }) => [id, args])
      : message.role === 'tool'
        ? [[message.tool_call_id, message.content]]
        : [],
  );
  const [a, b, , , c] = reported.map(([id]) => id);
  expect(reported).toEqual([
    [a, '{"city":"a"}'],
    [b, '{"city":"b"}'],
    [a, 'A'],
    [b, 'B'],
    [c, '{"city":"c"}'],
    [c, 'C'],
  ]);
  expect(new Set([a, b, c]).size).toBe(3);
});

const faults: [string, object, string][] = [
  ['both forms', { functions: [weather], tools: [patch] }, 'functions'],
  ['a choice of the other form', { functions: [weather], tool_choice: 'auto' }, 'tool_choice'],
  ['function_call without functions', { tools: [patch], function_call: 'auto' }, 'function_call'],
  [
    'a result of no call',
    { messages: [user, { role: 'function', name: 'weather', content: 'x' }] },
    'messages[1].name',
  ],
  ['two functions of one name', { functions: [weather, weather] }, 'functions[1].name'],
  ['an unknown tool', { tools: [{ type: 'web_search' }] }, 'tools[0].type'],
];
for (const [what, body, param] of faults) {
  verifies('chat.read.requests', what, () => {
    expect(faultOf(() => read(body))).toMatchObject({ code: 'invalid_value', param, http: 400 });
  });
}
