// Members that a provider wants back, over the ways in which a turn goes on: within the turn, and by a caller that drops them.
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ScriptedAnswer } from '../support/scripted-upstream.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { functionTool, messagesOf, post, workspaceTools } from '../support/scripts.js';
import { verifies } from '../verifies.js';

let answers: ScriptedAnswer[] = [];
let box: SignalboxHere;

beforeAll(async () => {
  box = await startSignalboxHere({ script: () => answers.shift() ?? { text: 'done' } });
});
afterAll(() => box?.close());

const details = [
  { type: 'reasoning.text', text: 'Let me see', signature: 's', format: 'anthropic-claude-v1', index: 0 },
];
const signature = (of: string) => ({ google: { thought_signature: of } });
const call = (name: string, args: JsonObject) => ({
  id: `their_${name}`,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
  extra_content: signature(name),
});
const time = call('get_time', { offset_ms: 1 });
const person = call('ask_person', {});

/** One answer with these calls, streamed or whole. */
function calling(calls: JsonObject[], stream: boolean): ScriptedAnswer {
  const message = { role: 'assistant', content: null, reasoning_details: details, tool_calls: calls };
  if (!stream) return { json: { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] } };
  const [thought] = details;
  const deltas: JsonObject[] = [
    { reasoning_details: [{ ...thought!, text: 'Let me ', signature: null }] },
    { reasoning_details: [{ ...thought!, text: 'see' }] },
    ...calls.map(({ id, type, function: called }, index) => ({
      tool_calls: [{ index, id: id!, type: type!, function: called! }],
    })),
    ...calls.map(({ extra_content }, index) => ({ tool_calls: [{ index, extra_content: extra_content! }] })),
  ];
  const chunks = deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] }));
  return {
    chunks: [...chunks, { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }, 'data: [DONE]\n\n'],
  };
}

const lastMessages = () => messagesOf(box.upstream.requests.at(-1)!);

function expectRepeated(names: string[], among = lastMessages()): JsonObject {
  const message = among.find((each) => each['role'] === 'assistant')!;
  expect(message['reasoning_details']).toEqual(details);
  const calls = message['tool_calls'] as JsonObject[];
  expect(calls.map((each) => (each['function'] as JsonObject)['name'])).toEqual(names);
  expect(calls.map((each) => each['extra_content'])).toEqual(names.map(signature));
  return message;
}

for (const stream of [true, false]) {
  const how = stream ? 'streamed' : 'whole';

  verifies('models.openai.kept-members', `${how}: the next round of the turn has them`, async () => {
    answers = [calling([time], stream)];
    const request = { messages: [{ role: 'user', content: 'x' }], tools: [workspaceTools], stream };
    const response = await fetch(`${box.url}/api/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    });
    expect(await response.text()).toContain('done');
    expectRepeated(['get_time']);
  });

  verifies('models.openai.kept-members', `${how}: a mixed turn that goes on has them on every call`, async () => {
    answers = [calling([person, time], stream)];
    const tools = [workspaceTools, functionTool('ask_person')];
    const messages: JsonObject[] = [{ role: 'user', content: 'x' }];
    const asked = { messages, tools, stream, session_id: `kept_${how}` };
    const calls = stream ? await streamedCalls(asked) : await wholeCalls(asked);
    expect(calls).toMatchObject([{ function: { name: 'ask_person' }, extra_content: signature('ask_person') }]);
    const { id, type, function: called } = calls[0] as { id: string; type: string; function: JsonObject };
    messages.push(
      { role: 'assistant', content: null, tool_calls: [{ id, type, function: called }] },
      // The result is where the caller has put it.
      { role: 'user', content: 'by the way' },
      { role: 'tool', tool_call_id: id, content: 'Ada' },
    );
    await post(box.url, '/v1/chat/completions', { messages, tools, session_id: `kept_${how}` });
    const sent = lastMessages();
    expectRepeated(['ask_person', 'get_time'], sent);
    expect(sent.map((each) => each['role'])).toEqual(['user', 'assistant', 'tool', 'tool', 'user']);
    expect(sent[2]).toMatchObject({ tool_call_id: id, content: 'Ada' });
  });
}

verifies('models.openai.kept-members', 'a call of the caller’s own tool, over the other APIs', async () => {
  answers = [calling([person], false)];
  const tool = { name: 'ask_person', input_schema: { type: 'object' } };
  const said = await json('/v1/messages', { max_tokens: 9, messages: [{ role: 'user', content: 'x' }], tools: [tool] });
  const [use] = (said['content'] as JsonObject[]).filter((block) => block['type'] === 'tool_use');
  await json('/v1/messages', {
    max_tokens: 9,
    tools: [tool],
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: [use] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: use!['id'], content: 'Ada' }] },
    ],
  });
  expectRepeated(['ask_person']);

  answers = [calling([person], false)];
  const tools = [{ type: 'function', name: 'ask_person', parameters: { type: 'object' }, strict: false }];
  const responded = await json('/v1/responses', { input: 'x', tools });
  const [item] = (responded['output'] as JsonObject[]).filter(({ type }) => type === 'function_call');
  const output = { type: 'function_call_output', call_id: item!['call_id']!, output: 'Ada' };
  await json('/v1/responses', { input: [output], previous_response_id: responded['id'], tools });
  expectRepeated(['ask_person']);
  await json('/v1/responses', { input: [{ role: 'user', content: 'x' }, item, output], tools });
  expectRepeated(['ask_person']);
});

async function json(path: string, body: JsonObject | object): Promise<JsonObject> {
  const { status, body: answer } = await post(box.url, path, body);
  expect(answer, JSON.stringify(answer)).not.toHaveProperty('error.message');
  expect(status).toBe(200);
  return answer as unknown as JsonObject;
}

async function wholeCalls(request: object): Promise<object[]> {
  const { body } = await post(box.url, '/v1/chat/completions', request);
  return body.choices[0]!.message.tool_calls!;
}

/** As a reader of the stream joins them. */
async function streamedCalls(request: object): Promise<object[]> {
  const response = await fetch(`${box.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
  });
  const frames = (await response.text()).split('\n').filter((line) => line.startsWith('data: {'));
  const calls: JsonObject[] = [];
  for (const frame of frames) {
    const { choices } = JSON.parse(frame.slice('data: '.length)) as { choices: { delta: JsonObject }[] };
    for (const entry of (choices[0]?.delta['tool_calls'] ?? []) as (JsonObject & { index: number })[]) {
      const { index, function: piece, ...members } = entry;
      const { arguments: text = '', ...named } = (piece ?? {}) as { arguments?: string };
      const known = (calls[index] ??= { function: { arguments: '' } });
      const before = known['function'] as { arguments: string };
      calls[index] = { ...known, ...members, function: { ...before, ...named, arguments: before.arguments + text } };
    }
  }
  return calls;
}
