// Reads of resources and prompts whose caller has to sign in at the tool server: on the MCP endpoint in both eras, on the API and in chats.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, beforeEach, expect, vi } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { startWholeSignIns, type WholeSignIns } from '../support/whole-sign-ins.js';
import { verifies } from '../verifies.js';

let here: WholeSignIns;
beforeAll(async () => {
  here = await startWholeSignIns((url) => ({ hub: { url, auth: { kind: 'oauth' } } }), { gateways: 2 });
  await vi.waitFor(async () => expect((await ask('GET', '/api/prompts')).body).toMatchObject({ data: [{}] }), {
    timeout: 60_000,
    interval: 100,
  });
}, 120_000);
afterAll(() => here?.close());
beforeEach(() => ask('DELETE', '/api/connections/hub'));

const ask = (method: string, path: string, body?: object) => here.ask('ada', method, path, body);
const callsOf = (tool: string) => here.issuer.calls.filter((each) => each.tool === tool).length;
const addressIn = (text: string) => /open (http:\S+\/connections\/open\/\w+);/.exec(text)![1]!;

async function connect(mode: 'auto' | 'legacy', onAsked?: (params: JsonObject) => Promise<'accept' | 'decline'>) {
  const capabilities = onAsked === undefined ? {} : { elicitation: { url: {} } };
  const client = new Client({ name: 'asked', version: '1' }, { capabilities, versionNegotiation: { mode } });
  if (onAsked !== undefined) {
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      action: await onAsked(params as JsonObject),
    }));
  }
  const requestInit = { headers: here.headersOf('ada') };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${here.box.url}/mcp`), { requestInit }));
  return client;
}

const textOf = ({ contents }: { contents: object[] }) => (contents[0] as { text: string }).text;
const promptOf = ({ messages }: { messages: { content: object }[] }) => (messages[0]!.content as { text: string }).text;

for (const mode of ['auto', 'legacy'] as const) {
  verifies('sign-ins.reads', `a client that opens addresses, ${mode}`, async () => {
    const asked: JsonObject[] = [];
    const client = await connect(mode, async (params) => {
      asked.push(params);
      // Its user opens the address, and takes a moment.
      void here.signIn('ada', params['url']);
      return 'accept';
    });
    const before = callsOf('card');
    expect(textOf(await client.readResource({ uri: 'doc://card' }))).toBe('The card of ada');
    expect(asked).toMatchObject([{ mode: 'url', url: expect.stringContaining('/connections/open/') }]);
    await ask('DELETE', '/api/connections/hub');
    expect(promptOf(await client.getPrompt({ name: 'greeting' }))).toBe('Greet ada');
    await client.close();
    expect([asked.length, callsOf('card') - before]).toEqual([2, 1]);
    const rows = await here.box.rows(
      "select kind, state from audit_events where kind in ('resource_read', 'prompt_get') order by id desc limit 2",
    );
    expect(rows).toMatchObject([
      { kind: 'prompt_get', state: 'completed' },
      { kind: 'resource_read', state: 'completed' },
    ]);
  });

  verifies('sign-ins.reads', `its user declines, or it opens no addresses, ${mode}`, async () => {
    const declining = await connect(mode, async () => 'decline');
    await expect(declining.readResource({ uri: 'doc://card' })).rejects.toMatchObject({
      data: { code: 'connection_needed' },
    });
    await declining.close();
    const client = await connect(mode);
    const read = () => client.readResource({ uri: 'doc://card' });
    const error = await read().then(
      () => new Error('read'),
      (thrown: Error & { data?: unknown }) => thrown,
    );
    expect(error).toMatchObject({ data: { code: 'connection_needed' } });
    await here.signIn('ada', addressIn(error.message));
    expect(textOf(await read())).toBe('The card of ada');
    await client.close();
  });
}

verifies('sign-ins.reads', 'the API and chats say the address', async () => {
  const read = () => ask('POST', '/api/resources/read', { uri: 'doc://card' });
  const waiting = () => here.box.rows("select id from approvals where kind = 'sign_in' and state = 'waiting'");
  const before = (await waiting()).length;
  const refused = await read();
  expect(refused).toMatchObject({ status: 422, body: { error: { code: 'connection_needed' } } });
  // Repeated, it waits for the same sign-in.
  expect((await read()).body['error']).toMatchObject({ message: (refused.body['error'] as JsonObject)['message'] });
  expect((await waiting()).length - before).toBe(1);
  const chat = await ask('POST', '/v1/chat/completions', {
    model: 'scripted/model',
    messages: [{ role: 'user', content: [{ type: 'mcp_prompt', name: 'greeting' }] }],
  });
  expect(chat).toMatchObject({
    status: 422,
    body: { error: { code: 'connection_needed', param: 'messages[0].content[0]' } },
  });
  const { message } = chat.body['error'] as { message: string };
  await here.signIn('ada', addressIn(message));
  expect(await read()).toMatchObject({ status: 200, body: { contents: [{ text: 'The card of ada' }] } });
});

verifies('sign-ins.reads', 'a client comes back only to what its own request was asked', async () => {
  const states: unknown[] = [];
  const client = await connect('auto');
  const request = (params: object) =>
    client.request({ method: 'resources/read', params: { uri: 'doc://card', ...params } } as never);
  await request({}).catch((error: Error) => states.push(/open\/(\w+);/.exec(error.message)?.[1]));
  const [requestState] = states as [string];
  for (const other of [{ uri: 'doc://other' }, { _meta: { 'signalbox/session_id': 'another' } }]) {
    await expect(request({ ...other, requestState })).rejects.toMatchObject({ code: -32_602 });
  }
  await expect(request({ requestState })).rejects.toMatchObject({ data: { code: 'connection_needed' } });
  await client.close();
});
