// Approvals on the other chat APIs, and who may decide for whom.
import Anthropic from '@anthropic-ai/sdk';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, type ModelMessage } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { SignalboxHere } from '../support/services/start-signalbox.js';
import { startSignalboxHere } from '../support/services/start-signalbox.js';
import type { StartedHere } from '../support/services/start-here.js';
import { startAskingSignalbox, writing } from '../support/approvals-client.js';
import { post, workspaceTools } from '../support/scripts.js';
import { verifies } from '../verifies.js';

let asking: Awaited<ReturnType<typeof startAskingSignalbox<StartedHere>>>;
let box: SignalboxHere;

beforeAll(async () => {
  asking = await startAskingSignalbox(startSignalboxHere);
  ({ box } = asking);
}, 60_000);
afterAll(() => asking?.close());

const approve = JSON.stringify({ decision: 'approve' });

for (const stream of [false, true]) {
  verifies('approvals.returned', `the anthropic SDK, ${stream ? 'streamed' : 'as one body'}`, async () => {
    asking.follow(writing('a.txt'));
    const client = new Anthropic({ baseURL: box.url, apiKey: 'none', maxRetries: 0 });
    const session_id = `anthropic_${stream}`;
    const turn = (messages: Anthropic.MessageParam[]): Promise<Anthropic.Message> => {
      const mcp = { tools: [{ type: 'mcp_toolset', mcp_server_name: 'workspace' }] };
      const request = { model: 'scripted/model', max_tokens: 100, messages, session_id, ...mcp } as never;
      return stream ? client.messages.stream(request).finalMessage() : client.messages.create(request);
    };
    const question: Anthropic.MessageParam = { role: 'user', content: 'Write' };
    const first = await turn([question]);
    expect(first.stop_reason).toBe('tool_use');
    const asked = first.content.find((block) => block.type === 'tool_use')!;
    expect(asked).toMatchObject({
      name: 'approval_request',
      input: { tool: 'write_file', arguments: { path: 'a.txt' } },
    });
    const answer = (content: string): Anthropic.MessageParam => ({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: asked.id, content }],
    });
    const history: Anthropic.MessageParam[] = [question, { role: 'assistant', content: first.content }];
    const again = await turn([...history, answer('what?')]);
    expect(again.stop_reason).toBe('tool_use');
    history.push(answer('what?'), { role: 'assistant', content: again.content }, answer(approve));
    const second = await turn(history);
    expect(second).toMatchObject({ stop_reason: 'end_turn' });
    expect(await asking.fileOf(session_id, 'a.txt')).toBe('one');
    // The conversation continues with the client's copy of it.
    history.push({ role: 'assistant', content: second.content }, { role: 'user', content: 'Write' });
    expect((await turn(history)).stop_reason).toBe('tool_use');
  });

  verifies('approvals.returned', `responses, ${stream ? 'streamed' : 'as one body'}`, async () => {
    asking.follow(writing('r.txt'));
    const client = new OpenAI({ baseURL: `${box.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const session_id = `responses_${stream}`;
    const turn = async (input: unknown, previous_response_id?: string): Promise<OpenAI.Responses.Response> => {
      const request = {
        model: 'scripted/model',
        input,
        tools: [workspaceTools],
        session_id,
        previous_response_id,
      } as never;
      return stream ? client.responses.stream(request).finalResponse() : client.responses.create(request);
    };
    const first = await turn('Write');
    const asked = first.output.find((item) => item.type === 'function_call')!;
    expect(asked.name).toBe('approval_request');
    const answer = (output: string) => [{ type: 'function_call_output', call_id: asked.call_id, output }];
    const again = await turn(answer('what?'), first.id);
    expect(again.output.map(({ type }) => type)).toEqual(['function_call']);
    const second = await turn(answer(approve), again.id);
    expect(second.output_text).toContain('r.txt');
    expect(await asking.fileOf(session_id, 'r.txt')).toBe('one');
    const third = await turn([{ role: 'user', content: 'Write' }], second.id);
    expect(third.output.some((item) => item.type === 'function_call')).toBe(true);
    // The model has seen each call once.
    const seen = box.upstream.requests.at(-1)!.body['messages'] as JsonObject[];
    expect(seen.filter(({ role }) => role === 'tool')).toHaveLength(1);
  });
}

verifies('approvals.returned', 'the AI SDK, which does not know the function', async () => {
  asking.follow(writing('v.txt'));
  const fetchWithSession: typeof fetch = (input, init) => {
    const body = { ...(JSON.parse(init!.body as string) as JsonObject), tools: [workspaceTools], session_id: 'ai' };
    return fetch(input, { ...init, body: JSON.stringify(body) });
  };
  const provider = createOpenAICompatible({ name: 'signalbox', baseURL: `${box.url}/v1`, fetch: fetchWithSession });
  const model = provider('scripted/model');
  const messages: ModelMessage[] = [{ role: 'user', content: 'Write' }];
  const first = await generateText({ model, messages, maxRetries: 0 });
  const [asked] = first.toolCalls;
  expect(asked).toMatchObject({ toolName: 'approval_request' });
  const { toolCallId, toolName, input } = asked!;
  const output = {
    type: 'json' as const,
    value: { decision: 'approve', arguments: { path: 'w.txt', content: 'edited' } },
  };
  messages.push(
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName, input: input as unknown }] },
    { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] },
  );
  const second = await generateText({ model, messages, maxRetries: 0 });
  expect(second.finishReason).toBe('stop');
  expect(await asking.fileOf('ai', 'w.txt')).toBe('edited');
});

verifies('approvals.returned', 'the model is told that the call succeeded', async () => {
  // The offline model reports this in cases where the wire formats cannot.
  const offline = await startAskingSignalbox(startSignalboxHere, { scripted: false });
  try {
    const request = { tools: [workspaceTools], session_id: 'offline' };
    const messages: JsonObject[] = [{ role: 'user', content: 'Write "hello" to notes.txt' }];
    const first = await post(offline.url(), '/v1/chat/completions', { ...request, messages });
    const { message } = first.body.choices[0]!;
    messages.push(message, { role: 'tool', tool_call_id: message.tool_calls![0]!.id, content: approve });
    const second = await post(offline.url(), '/v1/chat/completions', { ...request, messages });
    expect(second.body.choices[0]!.message.content).toContain('notes.txt');
    expect(second.body.choices[0]!.message.content).not.toContain('failed');
  } finally {
    await offline.close();
  }
});

verifies('approvals.owner', 'two principals with one session name, an approver, and the audit', async () => {
  asking.follow(writing('p.txt'));
  const make = async (owner: string, more: object, key?: string) => {
    const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const { body } = await post(box.url, '/api/keys', { owner, scopes: ['chat'], ...more }, headers);
    return (body as unknown as { key: string }).key;
  };
  const admin = await make('root', { scopes: ['admin', 'chat', 'files'] });
  const [alice, bob, carol] = [
    await make('alice', { scopes: ['chat', 'tools', 'files'] }, admin),
    await make('bob', { scopes: ['chat', 'tools'] }, admin),
    await make('carol', { roles: ['approver'] }, admin),
  ];
  const as = (key: string) => ({ authorization: `Bearer ${key}` });
  const get = async (path: string, key: string) => {
    const answer = await fetch(box.url + path, { headers: as(key) });
    return { status: answer.status, body: (await answer.json()) as JsonObject & { data: { id: string }[] } };
  };
  const request = { messages: [{ role: 'user', content: 'Write' }], tools: [workspaceTools], session_id: 'shared' };
  const { body } = await post(box.url, '/v1/chat/completions', request, as(alice));
  const { message } = body.choices[0]!;
  const [call] = message.tool_calls!;
  const { id } = JSON.parse(call!.function.arguments) as { id: string };

  expect((await get(`/api/approvals/${id}`, bob)).status).toBe(404);
  expect((await get('/api/approvals', bob)).body.data).toEqual([]);
  const approving = { decision: 'approve' };
  expect((await post(box.url, `/api/approvals/${id}`, approving, as(bob))).status).toBe(404);
  const answer = { role: 'tool', tool_call_id: call!.id, content: approve };
  const stolen = { ...request, messages: [...request.messages, message, answer] };
  expect(await post(box.url, '/v1/chat/completions', stolen, as(bob))).toMatchObject({
    body: { error: { code: 'turn_expired' } },
  });
  expect((await get(`/api/approvals/${id}`, alice)).body).toMatchObject({ state: 'waiting' });

  expect((await get('/api/approvals?state=waiting', carol)).body.data.map((each) => each.id)).toContain(id);
  expect((await post(box.url, `/api/approvals/${id}`, approving, as(carol))).status).toBe(200);
  const done = await post(box.url, '/v1/chat/completions', stolen, as(alice));
  expect(done.body.choices[0]!.finish_reason).toBe('stop');
  const rows = await box.rows<JsonObject>(
    'select kind, principal, approver from audit_events where approval_id = $1 order by at',
    [id],
  );
  expect(rows).toEqual([
    { kind: 'approval', principal: 'alice', approver: 'carol' },
    { kind: 'tool_call', principal: 'alice', approver: 'carol' },
  ]);
});
