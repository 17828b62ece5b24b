// The official Anthropic SDK judges /v1/messages of a running gateway: text, server tools, its own tools and both, streamed
// and not, and its tool loop; broken answers and errors must throw.
import Anthropic, { type APIError } from '@anthropic-ai/sdk';
import { afterAll, beforeAll, expect } from 'vitest';
import { postJson } from '../support/read-sse.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { anthropicJudges } from '../support/anthropic-judges.js';
import { expectThrown, questionsTo } from '../support/chat-judge.js';
import { breaks, cutOrToolScript } from '../support/cut-script.js';
import { messagesOf } from '../support/scripts.js';
import { clientTool, lookedUp, serverTool } from '../support/tool-script.js';
import { verifies } from '../verifies.js';

let box: SignalboxHere;

beforeAll(async () => {
  box = await startSignalboxHere({ script: cutOrToolScript });
});
afterAll(() => box?.close());

const toolset = {
  type: 'mcp_toolset',
  mcp_server_name: 'workspace',
  default_config: { enabled: false },
  configs: { get_time: { enabled: true } },
};
const offered = { extra: { tools: [toolset] } };
const ask = questionsTo(() => box.url);
const usage = { input: 10, output: 5 };

for (const judge of anthropicJudges) {
  verifies('apis.messages.sdk', `${judge.name}: plain text`, async () => {
    expect(await judge.hear(ask('plain'))).toEqual({ text: 'Hello', finishReasons: ['end_turn'], calls: [], usage });
  });

  verifies('apis.messages.sdk', `${judge.name}: a server tool`, async () => {
    const functions = { tools: [serverTool], extra: { tool_mode: 'auto' } };
    for (const offer of [offered, functions]) {
      expect(await judge.hear(ask('a server tool', offer))).toEqual({
        text: 'Looking.\n\nGot time',
        finishReasons: ['end_turn'],
        calls: [],
        usage: { input: 20, output: 10 },
      });
    }
  });

  verifies('apis.messages.sdk', `${judge.name}: manual, the same tool goes back to the caller`, async () => {
    const manual = { extra: { ...offered.extra, tool_mode: 'manual' } };
    expect(await judge.hear(ask('a server tool', manual))).toEqual({
      text: 'Looking.',
      finishReasons: ['tool_use'],
      calls: [{ name: 'get_time', arguments: { offset_ms: 0 } }],
      usage,
    });
  });

  verifies('apis.messages.sdk', `${judge.name}: client tools, a mixed turn`, async () => {
    const mixed = await judge.hear(ask('a mixed turn', { ...offered, tools: [clientTool] }));
    expect(mixed).toEqual({ text: 'Looking.', finishReasons: ['tool_use'], calls: [lookedUp], usage });
    const own = await judge.hear(ask('two client tools', { tools: [clientTool] }));
    expect(own).toMatchObject({ calls: [lookedUp, { name: 'lookup', arguments: { key: 'b' } }] });
  });

  verifies('apis.messages.sdk', `${judge.name}: its tool loop`, async () => {
    const own = await judge.converse(ask('two client tools', { tools: [clientTool] }));
    expect(own).toBe('Got value of höhe and value of b');
    const mixed = await judge.converse(ask('a mixed turn', { ...offered, tools: [clientTool] }));
    expect(mixed).toBe('Got time and value of höhe');
  });

  verifies('apis.messages.cut', judge.name, async () => {
    for (const [what, [, code]] of Object.entries(breaks)) {
      // Covered in sdk-cut.test.ts, with a provider that has shorter timeouts.
      if (what === 'silent for too long') continue;
      for (const question of [ask(what), ask(`second: ${what}`, offered)]) await expectThrown(judge, question, code);
    }
  });
}

verifies('apis.messages.sdk', 'the next turn sees what ran in the last', async () => {
  const client = new Anthropic({ baseURL: box.url, apiKey: 'sk-any', maxRetries: 0 });
  const tools = [toolset] as unknown as Anthropic.ToolUnion[];
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'a server tool' }];
  const body = { model: 'scripted/model', max_tokens: 100, tools };
  const first = await client.messages.create({ ...body, messages });
  expect(first.content.map(({ type }) => type as string)).toEqual(['text', 'mcp_tool_use', 'mcp_tool_result', 'text']);
  expect(first.content[1]).toMatchObject({ name: 'get_time', server_name: 'workspace', input: { offset_ms: 0 } });
  expect(first.content[2]).toMatchObject({ is_error: false, tool_use_id: (first.content[1] as { id: string }).id });
  messages.push({ role: 'assistant', content: first.content }, { role: 'user', content: 'and now?' });
  const second = await client.messages.create({ ...body, messages });
  expect(second.stop_reason).toBe('end_turn');
  const history = messagesOf(box.upstream.requests.at(-1)!);
  const before = history.slice(0, 5).map((message) => message['role']);
  expect(before).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  expect(history[1]).toMatchObject({ content: 'Looking.', tool_calls: [{ function: { name: 'get_time' } }] });
});

verifies('apis.errors', 'the SDK knows Anthropic’s errors, by status, type and request', async () => {
  const client = new Anthropic({ baseURL: box.url, apiKey: 'sk-any', maxRetries: 0 });
  const body = { model: 'scripted/model', max_tokens: 100, messages: [{ role: 'user' as const, content: 'x' }] };
  const wrong: [object, abstract new (...args: never[]) => Error, number, string, string][] = [
    [{ temperature: 7 }, Anthropic.BadRequestError, 400, 'invalid_request_error', 'temperature'],
    [{ tool_choice: { type: 'tool', name: 'none' } }, Anthropic.BadRequestError, 400, 'invalid_request_error', 'none'],
    [
      { tools: [{ type: 'mcp_toolset', mcp_server_name: 'none' }] },
      Anthropic.BadRequestError,
      400,
      'invalid_request_error',
      'none',
    ],
  ];
  for (const [more, Kind, status, type, named] of wrong) {
    const error: unknown = await client.messages.create({ ...body, ...more }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Kind);
    const { requestID } = error as APIError;
    expect(error).toMatchObject({ status, type, requestID: expect.stringMatching(/^req_/) });
    expect((error as APIError).error).toMatchObject({ request_id: requestID });
    expect((error as Error).message).toContain(named);
  }
});

verifies('apis.errors', 'before a controller is reached too', async () => {
  const broken = await fetch(`${box.url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'sk-any', 'anthropic-version': '2023-06-01' },
    body: '{',
  });
  expect([broken.status, await broken.json()]).toMatchObject([
    400,
    { type: 'error', error: { type: 'invalid_request_error', code: 'invalid_json' } },
  ]);
  const got = await fetch(`${box.url}/v1/messages`);
  expect([got.status, await got.json()]).toMatchObject([405, { type: 'error', error: { code: 'method_not_allowed' } }]);
});

verifies('apis.messages.events', 'nothing but Anthropic’s events, each with its name, over the wire', async () => {
  const body = { model: 'scripted/model', max_tokens: 9, stream: true, messages: [{ role: 'user', content: 'plain' }] };
  const answer = await postJson(`${box.url}/v1/messages`, body);
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  expect(answer.headers.get('x-run-id')).toMatch(/^run_/);
  const lines = (await answer.text()).split('\n').filter((line) => line.startsWith('event: '));
  expect(lines.map((line) => line.slice('event: '.length))).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
});
