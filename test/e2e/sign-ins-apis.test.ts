// Calls whose caller has to sign in at the tool server: on the other chat APIs, the tools API and the MCP endpoint.
import Anthropic from '@anthropic-ai/sdk';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { decideAt } from '../support/approvals-client.js';
import { eventsOf } from '../support/events-client.js';
import { mcpClients } from '../support/mcp-clients.js';
import { startSignalboxHere } from '../support/services/start-signalbox.js';
import type { StartedHere } from '../support/services/start-here.js';
import { hubTools, type SigningIn, startSigningIn } from '../support/signing-in.js';
import { verifies } from '../verifies.js';

let here: SigningIn<StartedHere>;
beforeAll(async () => {
  here = await startSigningIn(startSignalboxHere, { gateways: 2 });
}, 60_000);
afterAll(() => here?.close());

verifies('sign-ins.returned', 'the anthropic SDK', async () => {
  const client = new Anthropic({ baseURL: here.box.url, apiKey: 'none', maxRetries: 0 });
  const turn = (messages: Anthropic.MessageParam[]): Promise<Anthropic.Message> => {
    const mcp = { tools: [{ type: 'mcp_toolset', mcp_server_name: 'hub' }], session_id: 'anthropic' };
    return client.messages.create({ model: 'scripted/model', max_tokens: 100, messages, ...mcp } as never);
  };
  const question: Anthropic.MessageParam = { role: 'user', content: 'Go' };
  const first = await turn([question]);
  const asked = first.content.find((block) => block.type === 'tool_use')!;
  expect(asked).toMatchObject({ name: 'sign_in_request', input: { server: 'hub' } });
  await here.signIn('anthropic');
  const content = [{ type: 'tool_result' as const, tool_use_id: asked.id, content: 'done' }];
  const second = await turn([question, { role: 'assistant', content: first.content }, { role: 'user', content }]);
  expect(second).toMatchObject({ stop_reason: 'end_turn' });
  expect(await here.ranIn('anthropic')).toEqual(['push0']);
});

verifies('sign-ins.returned', 'responses', async () => {
  const client = new OpenAI({ baseURL: `${here.box.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const turn = (input: unknown, previous_response_id?: string): Promise<OpenAI.Responses.Response> => {
    const request = { model: 'scripted/model', input, tools: hubTools, session_id: 'responses', previous_response_id };
    return client.responses.create(request as never);
  };
  const first = await turn('Go');
  const asked = first.output.find((item) => item.type === 'function_call')!;
  expect(asked.name).toBe('sign_in_request');
  await here.signIn('responses');
  const second = await turn([{ type: 'function_call_output', call_id: asked.call_id, output: 'done' }], first.id);
  expect(second.output_text).toContain('said push0');
  expect(await here.ranIn('responses')).toEqual(['push0']);
});

async function call(session_id: string | undefined, headers: Record<string, string> = {}, gateway = 0) {
  const response = await fetch(`${here.box.gateways[gateway]!.url}/api/tools/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ name: 'push', arguments: {}, session_id }),
  });
  return { status: response.status, body: (await response.json()) as JsonObject };
}

verifies('sign-ins.tools-api', 'without a key, and with one on two gateways', async () => {
  for (const [session, headers] of Object.entries<Record<string, string>>({
    tools_plain: {},
    tools_keyed: { 'idempotency-key': 'once' },
  })) {
    const first = await call(session, headers);
    expect(first).toMatchObject({ status: 202, body: { sign_in: { server: 'hub', tool: 'push' } } });
    const again = await call(session, headers, 1);
    expect(again).toMatchObject({ status: 202, body: { sign_in: { server: 'hub' } } });
    expect(again).toEqual(first);
    await here.signIn(session);
    const ended = await call(session, headers, 1);
    expect(ended).toMatchObject({ status: 200, body: { content: 'said hello' } });
    expect(await here.ranIn(session)).toEqual(['hello']);
  }
});

verifies(
  'sign-ins.tools-api',
  'a call that names no session, repeated on another gateway, waits for the same sign-in',
  async () => {
    const first = await call(undefined);
    expect(first).toMatchObject({ status: 202, body: { sign_in: { server: 'hub', tool: 'push' } } });
    expect(await call(undefined, {}, 1)).toEqual(first);
    const { id } = first.body['sign_in'] as { id: string };
    await decideAt(here.box.url, id, { decision: 'deny' });
  },
);

for (const [session, headers] of Object.entries<Record<string, string>>({
  stream_plain: {},
  stream_keyed: { 'idempotency-key': 'streamed' },
})) {
  verifies('sign-ins.tools-api', session, async () => {
    const types: unknown[] = [];
    const body = { name: 'push', arguments: {}, session_id: session };
    for await (const event of eventsOf(here.box.url, '/api/tools/call', body, { headers })) {
      types.push(event['type']);
      if (event['type'] === 'sign_in_required') await here.signIn(session);
    }
    expect(types.filter((type) => type === 'sign_in_required')).toHaveLength(1);
    expect(types.at(-1)).toBe('tool_result');
    expect(await here.ranIn(session)).toEqual(['hello']);
  });

  verifies('sign-ins.tools-api', `${session}, refused`, async () => {
    const body = { name: 'push', arguments: {}, session_id: `${session}_refused` };
    const more: Record<string, string> = session === 'stream_keyed' ? { 'idempotency-key': 'refused' } : {};
    let last: JsonObject = {};
    for await (const event of eventsOf(here.box.url, '/api/tools/call', body, { headers: more })) {
      last = event;
      if (event['type'] !== 'sign_in_required') continue;
      await decideAt(here.box.url, (event['sign_in'] as JsonObject)['id'] as string, { decision: 'deny' });
    }
    expect(JSON.stringify(last)).toContain('connection_needed');
  });
}

const _meta = (session: string) => ({ 'signalbox/session_id': session });
const completed: unknown[] = [];
const textOf = (result: { content?: unknown }) => (result.content as { text: string }[])[0]!.text;

for (const mode of ['auto', 'legacy'] as const) {
  const asks = async (answer: (params: JsonObject) => Promise<'accept' | 'decline'>, query = '') => {
    const capabilities = { elicitation: { url: {} } };
    const client = new Client({ name: 'asked', version: '1' }, { capabilities, versionNegotiation: { mode } });
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      action: await answer(params as JsonObject),
    }));
    client.setNotificationHandler('notifications/elicitation/complete', ({ params }) => void completed.push(params));
    await client.connect(new StreamableHTTPClientTransport(new URL(`${here.box.url}/mcp${query}`)));
    return client;
  };

  verifies('sign-ins.mcp', `a client that opens addresses, ${mode}`, async () => {
    const session = `mcp_${mode}`;
    const asked: JsonObject[] = [];
    const client = await asks(async (params) => {
      asked.push(params);
      // The client says that its user opens the address, who then takes a moment.
      setTimeout(() => void here.signIn(session), 300);
      return 'accept';
    });
    const result = await client.callTool({ name: 'push', arguments: {}, _meta: _meta(session) });
    await client.close();
    expect(asked).toMatchObject([{ mode: 'url', url: expect.stringContaining('/connections/open/appr_') }]);
    expect(textOf(result)).toBe('said hello');
    const { elicitationId } = asked[0]!;
    expect(completed.splice(0)).toEqual(mode === 'legacy' ? [{ elicitationId }] : []);
    expect(await here.ranIn(session)).toEqual(['hello']);
  });

  verifies('sign-ins.mcp', `by way of call_tool, ${mode}`, async () => {
    const session = `mcp_search_${mode}`;
    const client = await asks(async () => {
      await here.signIn(session);
      return 'accept';
    }, '?mode=search');
    const result = await client.callTool({ name: 'call_tool', arguments: { name: 'push' }, _meta: _meta(session) });
    await client.close();
    expect(textOf(result)).toBe('said hello');
    expect(await here.ranIn(session)).toEqual(['hello']);
  });

  verifies('sign-ins.mcp', `its user declines, ${mode}`, async () => {
    const client = await asks(async () => 'decline');
    const result = await client.callTool({ name: 'push', arguments: {}, _meta: _meta(`declined_${mode}`) });
    await client.close();
    expect(result).toMatchObject({ isError: true, _meta: { 'signalbox/error_code': 'connection_needed' } });
    expect(await here.ranIn(`declined_${mode}`)).toEqual([]);
  });
}

for (const [name, connect] of Object.entries(mcpClients)) {
  verifies('sign-ins.mcp', `a client that opens no addresses: ${name}`, async () => {
    const session = `mcp_${name.replace(/\W+/g, '_')}`;
    const client = await connect(here.box.url);
    const params = { name: 'push', arguments: {}, _meta: _meta(session) };
    const refused = await client.call(params);
    expect(refused).toMatchObject({ isError: true, _meta: { 'signalbox/error_code': 'connection_needed' } });
    expect(textOf(refused)).toMatch(
      /sign-in at the tool server 'hub': open http:\S+\/connections\/open\/appr_\w+; then/,
    );
    await here.signIn(session);
    expect(textOf(await client.call(params))).toBe('said hello');
    await client.close();
    expect(await here.ranIn(session)).toEqual(['hello']);
  });
}
