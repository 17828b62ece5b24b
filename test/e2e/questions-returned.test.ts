// Questions of tool servers to callers that do not wait: the OpenAI SDK, which returns with the answer, and the tools API.
import OpenAI from 'openai';
import { expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { ada, answersIn, asking, askingServersOfFile, decide, tools, user } from '../support/asking-servers.js';
import { eventsOf } from '../support/events-client.js';
import { verifies } from '../verifies.js';

askingServersOfFile();

const client = () => new OpenAI({ baseURL: `${asking.box.url}/v1`, apiKey: 'none', maxRetries: 0 });
const second = () => new OpenAI({ baseURL: `${asking.box.gateways[1]!.url}/v1`, apiKey: 'none', maxRetries: 0 });

async function turn(messages: OpenAI.ChatCompletionMessageParam[], session_id: string, to = client()) {
  const request = { model: 'scripted/model', messages, tools: tools as never, session_id };
  const { message, finish_reason: finish } = (await to.chat.completions.create(request)).choices[0]!;
  const calls = (message.tool_calls ?? []) as OpenAI.ChatCompletionMessageFunctionToolCall[];
  const asked = calls.map(({ id, function: { name, arguments: args } }) => {
    return { id, name, arguments: JSON.parse(args) as JsonObject };
  });
  return { finish, message, asked };
}
const answer = (id: string, content: object | string) => ({
  role: 'tool' as const,
  tool_call_id: id,
  content: typeof content === 'string' ? content : JSON.stringify(content),
});

for (const tool of ['book', 'book_http', 'book_new', 'book_new_http']) {
  verifies('questions.returned', `${tool}: two questions, three turns on two gateways`, async () => {
    asking.called = { tool, arguments: { times: 2 } };
    const content = tool.startsWith('book_new') ? { name: 'Ada' } : ada.arguments;
    const messages: OpenAI.ChatCompletionMessageParam[] = [user('Book')];
    for (const [number, to] of [client(), second()].entries()) {
      const { finish, message, asked } = await turn(messages, `returned_${tool}`, to);
      expect({ finish, asked }).toMatchObject({
        finish: 'tool_calls',
        asked: [
          {
            name: 'approval_request',
            arguments: {
              kind: 'question',
              tool,
              message: `Who travels? (${number + 1})`,
              schema: { type: 'object' },
            },
          },
        ],
      });
      messages.push(message, answer(asked[0]!.id, { decision: 'approve', arguments: content }));
    }
    const last = await turn(messages, `returned_${tool}`);
    expect(last).toMatchObject({ finish: 'stop', asked: [] });
    expect(answersIn(last.message.content!)).toEqual([
      { action: 'accept', content },
      { action: 'accept', content },
    ]);
    expect(JSON.stringify(asking.box.upstream.requests.at(-1)!.body)).not.toContain('approval_request');
  });
}

verifies('questions.returned', 'declined; no decision; content that does not fit; answered by the API', async () => {
  asking.called = { tool: 'book_http', arguments: {} };
  const messages: OpenAI.ChatCompletionMessageParam[] = [user('Book')];
  const first = await turn(messages, 'undecided');
  const id = first.asked[0]!.id;
  messages.push(first.message, answer(id, 'Invalid tool_call: approval_request'));
  const again = await turn(messages, 'undecided');
  expect(again.asked).toEqual(first.asked);
  const wrong = answer(id, { decision: 'approve', arguments: { name: 5 } });
  await expect(turn([...messages, again.message, wrong], 'undecided')).rejects.toMatchObject({
    status: 400,
    code: 'invalid_value',
  });
  const declined = answer(id, { decision: 'deny' });
  const last = await turn([...messages, again.message, declined], 'undecided');
  expect(answersIn(last.message.content!)).toEqual([{ action: 'decline' }]);
  const other = await turn([user('Book')], 'by_api');
  await decide(other.asked[0]!.arguments['id'] as string, ada);
  const reported = await turn([user('Book'), other.message, answer(other.asked[0]!.id, 'done')], 'by_api');
  expect(answersIn(reported.message.content!)).toEqual([{ action: 'accept', content: ada.arguments }]);
});

verifies('questions.tools-api', 'answers 202, and the same key has the outcome', async () => {
  const call = async (key: string, url = asking.box.url) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key };
    const body = JSON.stringify({ name: 'book_http', arguments: { times: 2 }, session_id: 'tools_api' });
    const response = await fetch(`${url}/api/tools/call`, { method: 'POST', headers, body });
    return { status: response.status, body: (await response.json()) as JsonObject };
  };
  const first = await call('once');
  expect(first).toMatchObject({ status: 202, body: { approval: { kind: 'question', message: 'Who travels? (1)' } } });
  expect(await call('once', asking.box.gateways[1]!.url)).toEqual(first);
  await decide((first.body['approval'] as JsonObject)['id'] as string, ada);
  const next = await call('once', asking.box.gateways[1]!.url);
  expect(next).toMatchObject({ status: 202, body: { approval: { message: 'Who travels? (2)' } } });
  await decide((next.body['approval'] as JsonObject)['id'] as string, { decision: 'deny' });
  const ended = await call('once');
  expect(ended.status).toBe(200);
  expect(answersIn(ended.body['content'] as string)).toMatchObject([{ action: 'accept' }, { action: 'decline' }]);
});

verifies('questions.tools-api', 'a stream stays', async () => {
  const body = { name: 'book_http', arguments: {}, session_id: 'tools_stream' };
  const types: unknown[] = [];
  for await (const event of eventsOf(asking.box.url, '/api/tools/call', body)) {
    types.push(event['type']);
    if (event['type'] === 'approval_required') await decide((event['approval'] as JsonObject)['id'] as string, ada);
  }
  expect(types).toEqual(expect.arrayContaining(['approval_required', 'tool_result']));
});
