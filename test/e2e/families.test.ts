import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { postJson, readSse } from '../support/read-sse.js';
import { type SignalboxHere, startSignalboxHere, toolsReady } from '../support/services/start-signalbox.js';
import { post, workspaceTools } from '../support/scripts.js';
import { strictAnthropic } from '../support/strict-anthropic.js';
import { strictDeepSeek } from '../support/strict-deepseek.js';
import { strictGemini } from '../support/strict-gemini.js';
import { strictResponses } from '../support/strict-responses.js';
import { startStrictUpstream, type PlannedRound, type StrictUpstream } from '../support/strict-upstream.js';
import { verifies } from '../verifies.js';

/** Three rounds of tools: two parallel calls of which one fails, then one, then another, then an answer. */
const plan: PlannedRound[] = [
  {
    thought: 'I must look.',
    text: 'Looking.',
    calls: [
      { name: 'read_file', arguments: { path: 'a.txt' } },
      { name: 'read_file', arguments: { path: 'missing.txt' } },
    ],
  },
  { thought: 'And the time.', calls: [{ name: 'get_time', arguments: { offset_ms: -86_400_000 } }] },
  { text: 'Writing.', calls: [{ name: 'write_file', arguments: { path: 'b.txt', content: '昨天' } }] },
  { thought: 'That is all.', text: 'All done.' },
];

const models = ['deepseek/m', 'claude/claude-opus-4-5', 'gemini/gemini-3-strict', 'openai/gpt-5.5'];
let box: SignalboxHere;
let strict: StrictUpstream[] = [];
let gateways: { url: string }[] = [];

beforeAll(async () => {
  [box, ...strict] = await Promise.all([
    startSignalboxHere({ gateways: 0 }),
    startStrictUpstream(strictAnthropic, plan),
    startStrictUpstream(strictGemini, plan),
    startStrictUpstream(strictDeepSeek, plan),
    startStrictUpstream(strictResponses, plan),
  ]);
  const [anthropic, gemini, deepseek, openai] = strict;
  const providers = {
    deepseek: {
      kind: 'openai',
      base_url: `${deepseek!.origin}/v1`,
      api_key: 'key-of-deepseek',
      reasoning_replay: 'tool_turns',
      max_retries: 0,
    },
    claude: { kind: 'anthropic', base_url: anthropic!.origin, api_key: 'key-of-claude', max_retries: 0 },
    gemini: { kind: 'gemini', base_url: gemini!.origin, api_key: 'key-of-gemini', max_retries: 0 },
    openai: { kind: 'openai', base_url: `${openai!.origin}/v1`, api_key: 'key-of-openai', max_retries: 0 },
  };
  const environment = { MODELS_PROVIDERS: JSON.stringify(providers), DEFAULT_MODEL: 'deepseek/m' };
  gateways = await Promise.all([box.startGateway(environment), box.startGateway(environment)]);
  await Promise.all(gateways.map(({ url }) => toolsReady(url)));
});
afterAll(async () => {
  await box?.close();
  await Promise.all(strict.map((upstream) => upstream.close()));
});

const ask = (model: string, session_id: string) => ({
  model,
  session_id,
  messages: [{ role: 'user', content: 'Go.' }],
  tools: [workspaceTools],
  // One after the other, so that events arrive in a fixed order.
  parallel_tool_calls: false,
});

async function putFile(session: string): Promise<void> {
  const answer = await fetch(`${gateways[0]!.url}/api/sessions/${session}/files/a.txt`, { method: 'PUT', body: 'A' });
  expect(answer.status).toBeLessThan(300);
}

/** What a caller sees, without ids, times and model names, and what each model does not take. */
function shown(value: unknown): unknown {
  const text = JSON.stringify(value, (key: string, member: unknown) =>
    [
      'id',
      'run_id',
      'created',
      'model',
      'duration_ms',
      'tool_call_id',
      'usage',
      'session_id',
      'workspace_path',
      'warnings',
    ].includes(key)
      ? undefined
      : member,
  );
  return JSON.parse(text.replace(/\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z| UTC|[+-]\d\d:\d\d)|\d{13}/g, 'then')) as unknown;
}

const noRefusals = () => expect(strict.map(({ refusals }) => refusals)).toEqual(strict.map(() => []));

verifies('models.families.tool-loop', 'three rounds run here, as JSON', async () => {
  const answers: unknown[] = [];
  for (const [at, model] of models.entries()) {
    await putFile(`auto_${at}`);
    const { status, body } = await post(gateways[0]!.url, '/api/chat/completions', ask(model, `auto_${at}`));
    noRefusals();
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.choices[0]!.message.content).toBe('Looking.\n\nWriting.\n\nAll done.');
    expect(body.tool_execution!.calls.map(({ name, success }) => [name, success])).toEqual([
      ['read_file', true],
      ['read_file', false],
      ['get_time', true],
      ['write_file', true],
    ]);
    answers.push(shown(body));
  }
  for (const answer of answers) expect(answer).toEqual(answers[0]);
  const second = strict[0]!.requests[1]!.body['messages'] as { content: JsonObject[] }[];
  expect(second.at(-1)!.content.map(({ is_error }) => is_error)).toEqual([undefined, true]);
});

verifies('models.families.tool-loop', 'three rounds run here, streamed', async () => {
  const reported: unknown[] = [];
  for (const [at, model] of models.entries()) {
    await putFile(`stream_${at}`);
    const body = { ...ask(model, `stream_${at}`), stream: true };
    const read = await readSse(await postJson(`${gateways[0]!.url}/api/chat/completions`, body));
    noRefusals();
    expect(read.done, JSON.stringify(read.events.at(-1))).toBe(true);
    reported.push(shown(joined(read.events)));
  }
  for (const events of reported) expect(events).toEqual(reported[0]);
});

/** Joins the pieces of a text or a call, which providers split anywhere. */
function joined(events: Record<string, unknown>[]): unknown[] {
  const all: { type: unknown; said?: string; rest?: unknown }[] = [];
  for (const { type, delta, choices: _, ...rest } of events) {
    const { content, reasoning_content, tool_calls } = (delta ?? {}) as Record<string, unknown>;
    const call = (tool_calls as { index: number; function: { name?: string; arguments: string } }[] | undefined)?.[0];
    const said = content ?? reasoning_content ?? call?.function.arguments;
    const key = call === undefined ? type : `call ${call.index}`;
    const last = all.at(-1);
    if (typeof said !== 'string') all.push({ type, rest });
    else if (last !== undefined && last.type === key) last.said += said;
    else all.push({ type: key, said, rest: call?.function.name });
  }
  return all;
}

interface Message {
  content: string | null;
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
}

/** The message of a strict client: of the received members, only those in OpenAI's types. */
async function converse(url: string, body: object, stream: boolean): Promise<{ finish: unknown; message: Message }> {
  if (!stream) {
    const { finish_reason: finish, message } = (await post(url, '/v1/chat/completions', body)).body.choices[0]!;
    const { content, tool_calls: calls = [] } = message;
    const tool_calls = calls.map(({ id, type, function: { name, arguments: text } }) => ({
      id,
      type,
      function: { name, arguments: text },
    }));
    return { finish, message: { content, ...(calls.length > 0 && { tool_calls }) } };
  }
  const read = await readSse(await postJson(`${url}/v1/chat/completions`, { ...body, stream }));
  const message: Message = { content: null };
  let finish: unknown;
  for (const { choices } of read.events) {
    const [choice] = choices as { delta: Partial<Message>; finish_reason: unknown }[];
    finish = choice?.finish_reason ?? finish;
    const { content, tool_calls = [] } = choice?.delta ?? {};
    if (content) message.content = (message.content ?? '') + content;
    for (const { id, type, function: piece } of tool_calls) {
      if (id !== undefined) (message.tool_calls ??= []).push({ id, type, function: { ...piece } });
      else message.tool_calls!.at(-1)!.function.arguments += piece.arguments;
    }
  }
  return { finish, message };
}

for (const stream of [false, true]) {
  const how = stream ? 'streamed' : 'as JSON';
  verifies('models.families.tool-loop', `run by a caller that drops what it does not know, ${how}`, async () => {
    for (const model of models) {
      const { messages, session_id: _, ...request } = ask(model, '');
      const history: object[] = [...messages];
      const called: string[] = [];
      for (const round of plan.keys()) {
        const { url } = gateways[round % 2]!;
        const body = { ...request, tool_mode: 'manual', messages: history };
        const { finish, message } = await converse(url, body, stream);
        noRefusals();
        expect(finish).toBe(round < plan.length - 1 ? 'tool_calls' : 'stop');
        history.push({ role: 'assistant', ...message });
        for (const { id, function: call } of message.tool_calls ?? []) {
          called.push(`${call.name} ${call.arguments}`);
          history.push({ role: 'tool', tool_call_id: id, content: `result of ${call.name}` });
        }
      }
      expect(history.at(-1)).toEqual({ role: 'assistant', content: 'All done.' });
      expect(called).toEqual(
        plan.flatMap(({ calls = [] }) => calls.map((call) => `${call.name} ${JSON.stringify(call.arguments)}`)),
      );
    }
  });
}
