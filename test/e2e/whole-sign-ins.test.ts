// Sign-ins as people make them, with nothing in between left out: the call, the address, the pages, the issuer, and the call again with
// the user's own token.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { eventsOf } from '../support/events-client.js';
import { type Person, renamed, startWholeSignIns, type WholeSignIns } from '../support/whole-sign-ins.js';
import { verifies } from '../verifies.js';

let here: WholeSignIns;
beforeAll(async () => {
  here = await startWholeSignIns(
    (url) => ({
      hub: { url, auth: { kind: 'oauth' } },
      desk: { url, auth: { kind: 'headers', names: ['X-Key'] }, tools: renamed('desk') },
      ledger: {
        url,
        auth: { kind: 'client_credentials', client_id: 'us', client_secret: '${LEDGER_SECRET}' },
        tools: renamed('ledger'),
      },
    }),
    { gateways: 2, scopes: { write: 'write' } },
  );
  await here.offered('ada', 'whoami', 'desk_whoami', 'ledger_whoami');
}, 120_000);
afterAll(() => here?.close());
/** Everybody begins as somebody who has never signed in. */
beforeEach(async () => {
  here.issuer.faults = {};
  for (const person of ['ada', 'bob'] as const)
    for (const server of ['hub', 'desk']) await here.ask(person, 'DELETE', `/api/connections/${server}`);
});

const tools = ['hub', 'desk', 'ledger'].map((server_label) => ({ type: 'mcp', server_label }));
const user = (content: string) => ({ role: 'user' as const, content });
const isRequest = (call: { function: { name: string } }) => call.function.name === 'sign_in_request';

/** One turn of the unmodified SDK. */
async function turn(person: Person, messages: OpenAI.ChatCompletionMessageParam[], session: string, gateway = 0) {
  const baseURL = `${here.box.gateways[gateway]!.url}/v1`;
  const client = new OpenAI({ baseURL, apiKey: here.keyOf(person), maxRetries: 0 });
  const request = { model: 'scripted/model', messages, tools: tools as never, session_id: `${session}_${person}` };
  const { message, finish_reason: finish } = (await client.chat.completions.create(request)).choices[0]!;
  here.shown.push(JSON.stringify(message));
  const calls = (message.tool_calls ?? []) as OpenAI.ChatCompletionMessageFunctionToolCall[];
  const asked = calls.filter(isRequest).map(({ id, function: { arguments: args } }) => {
    return { id, signIn: JSON.parse(args) as Record<string, string> };
  });
  return { finish, message, asked };
}

/** The turn, the sign-in that it asks for, and the turn that goes on; returns what is said then. */
async function signedInTurn(person: Person, tool: string, session: string, gateway?: string): Promise<string> {
  const question = user(`Call ${tool}`);
  const first = await turn(person, [question], session);
  expect(first.asked).toHaveLength(1);
  const [{ id, signIn }] = first.asked as [(typeof first.asked)[number]];
  const { status, page } = await here.signIn(person, signIn['authorization_url'], gateway);
  expect([status, page]).toEqual([200, expect.stringContaining('Connected to hub')]);
  const done = { role: 'tool' as const, tool_call_id: id, content: '{"decision":"done"}' };
  const second = await turn(person, [question, first.message, done], session, 1);
  expect(second).toMatchObject({ finish: 'stop', asked: [] });
  return second.message.content!;
}
const callTool = (person: Person, name: string, more: object = {}) =>
  here.ask(person, 'POST', '/api/tools/call', { name, arguments: {}, session_id: `tools_${person}`, ...more });
const signInOf = ({ body }: { body: JsonObject }) => body['sign_in'] as Record<string, string>;
const connectionOf = async (person: Person, server: string) =>
  ((await here.ask(person, 'GET', '/api/connections')).body['data'] as JsonObject[]).find(
    (each) => each['server'] === server,
  );

verifies('sign-ins.whole', 'the openai SDK; the callback arrives at another gateway', async () => {
  expect(await signedInTurn('ada', 'whoami', 'sdk')).toBe('It says: ada');
  // Known from now on, on each gateway and in every session.
  const again = await turn('ada', [user('Call whoami')], 'sdk_again', 1);
  expect(again.message.content).toBe('It says: ada');
  await here.ask('ada', 'DELETE', '/api/connections/hub');
  const elsewhere = here.box.gateways[1]!.url;
  expect(await signedInTurn('ada', 'whoami', 'sdk_elsewhere', elsewhere)).toBe('It says: ada');
});

verifies('sign-ins.whole', 'a held stream', async () => {
  let text = '';
  const body = { stream: true, messages: [user('Call whoami')], tools, session_id: 'held' };
  const events = eventsOf(here.box.gateways[1]!.url, '/api/chat/completions', body, { headers: here.headersOf('ada') });
  for await (const event of events) {
    here.shown.push(JSON.stringify(event));
    if (event['type'] === 'content') text += (event['delta'] as { content: string }).content;
    if (event['type'] !== 'sign_in_required') continue;
    expect((await here.signIn('ada', signInOf({ body: event })['authorization_url'])).status).toBe(200);
  }
  expect(text).toBe('It says: ada');
});

verifies('sign-ins.whole', 'the tools API', async () => {
  const first = await callTool('ada', 'whoami');
  expect(first.status).toBe(202);
  expect((await here.signIn('ada', signInOf(first)['authorization_url'])).status).toBe(200);
  expect(await callTool('ada', 'whoami')).toMatchObject({ status: 200, body: { content: 'ada' } });
});

for (const mode of ['auto', 'legacy'] as const) {
  verifies('sign-ins.whole', `/mcp, by URL elicitation, ${mode}`, async () => {
    const client = new Client(
      { name: 'whole', version: '1' },
      { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode } },
    );
    let page: Promise<unknown> | undefined;
    client.setRequestHandler('elicitation/create', ({ params }) => {
      // The client opens the address, and its user signs in while the call waits.
      page = here.signIn('ada', (params as { url: string }).url);
      return { action: 'accept' };
    });
    const requestInit = { headers: here.headersOf('ada') };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${here.box.url}/mcp`), { requestInit }));
    const result = await client.callTool({ name: 'whoami', arguments: {} });
    await client.close();
    expect(await page).toMatchObject({ status: 200 });
    expect(result.content).toMatchObject([{ text: 'ada' }]);
  });
}

verifies('connections.apart', 'two users at once, over processes', async () => {
  await signedInTurn('ada', 'whoami', 'apart');
  expect((await callTool('bob', 'whoami')).status).toBe(202);
  await signedInTurn('bob', 'whoami', 'apart');
  const people = Array.from({ length: 20 }, (_, at): Person => (at % 2 === 0 ? 'ada' : 'bob'));
  const answers = await Promise.all(
    // What differs keeps answers of one call from standing for another's.
    people.map((person, at) => callTool(person, 'whoami', { session_id: `apart_${at}` })),
  );
  expect(answers.map(({ body }) => body['content'])).toEqual(people);
});

verifies('sign-ins.whole', 'a server that wants more scopes: asked for, with those that were given', async () => {
  await signedInTurn('ada', 'whoami', 'step_up');
  expect(await signedInTurn('ada', 'write', 'step_up')).toBe('It says: written by ada');
  expect(await connectionOf('ada', 'hub')).toMatchObject({ state: 'connected', scopes: ['read', 'write'] });
  expect(here.issuer.calls.filter(({ tool }) => tool === 'write')).toHaveLength(1);
});

verifies('sign-ins.whole', 'a refused refresh, and a disconnected user, are asked again', async () => {
  await signedInTurn('ada', 'whoami', 'refused_refresh');
  here.issuer.revokeAll();
  expect(await signedInTurn('ada', 'whoami', 'refused_again')).toBe('It says: ada');
  expect((await here.ask('ada', 'DELETE', '/api/connections/hub')).status).toBe(204);
  const { status, body } = await callTool('ada', 'whoami');
  expect([status, body['sign_in']]).toEqual([202, expect.objectContaining({ server: 'hub' })]);
});

verifies('sign-ins.whole', 'headers of the user’s own, and the gateway’s own client', async () => {
  const first = await callTool('bob', 'desk_whoami');
  expect(first.status).toBe(202);
  const page = await fetch(signInOf(first)['authorization_url']!, { redirect: 'manual' });
  expect([page.status, page.headers.get('location')]).toEqual([302, `${here.box.url}/console/connections`]);
  const headers = { 'X-Key': here.issuer.giveKey('bob') };
  expect((await here.ask('bob', 'POST', '/api/connections/desk', { headers })).status).toBe(200);
  expect(await callTool('bob', 'desk_whoami')).toMatchObject({ status: 200, body: { content: 'bob' } });
  for (const person of ['ada', 'bob'] as const)
    expect(await callTool(person, 'ledger_whoami')).toMatchObject({ status: 200, body: { content: 'us' } });
});

verifies('connections.refresh-once', 'a hundred calls of one expired connection, over processes', async () => {
  await here.box.startWorker();
  await signedInTurn('ada', 'whoami', 'hundred');
  here.issuer.expireAccess();
  const before = here.issuer.countOf('/token', 'refresh_token');
  const calls = Array.from({ length: 100 }, (_, at) => callTool('ada', 'whoami', { session_id: `hundred_${at}` }));
  for (const answer of await Promise.all(calls))
    expect(answer).toMatchObject({ status: 200, body: { content: 'ada' } });
  expect(here.issuer.countOf('/token', 'refresh_token') - before).toBe(1);
});

verifies(
  'connections.secret',
  'in a refusal, and in all that was stored, logged, measured and shown here',
  async () => {
    const { box, issuer, shown } = here;
    await signedInTurn('ada', 'whoami', 'canaries');
    issuer.expireAccess();
    expect(await callTool('ada', 'whoami')).toMatchObject({ status: 200 });
    const [first, more] = [await callTool('bob', 'whoami'), await callTool('bob', 'desk_whoami')];
    expect([first.status, more.status]).toEqual([202, 202]);
    issuer.faults = {
      tokenError: { status: 500, body: JSON.stringify({ error: 'server_error', was: issuer.tokens }) },
    };
    expect((await here.signIn('bob', signInOf(first)['authorization_url'])).status).toBe(502);
    const values = (name: string) => issuer.asked.flatMap(({ form }) => form.get(name) ?? []);
    const canaries = new Set([...issuer.tokens, ...['code', 'code_verifier', 'refresh_token'].flatMap(values)]);
    expect(canaries.size).toBeGreaterThan(8);
    const tables = await box.rows<{ name: string }>(
      `select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    const places = new Map([['pages, answers and events', shown.join('\n')]]);
    for (const { name } of tables) {
      const rows = await box.rows<{ row: string }>(`select (to_jsonb(each) - 'sealed')::text as row from ${name} each`);
      places.set(name, rows.map(({ row }) => row).join('\n'));
    }
    for (const { url, log, stray } of [...box.gateways, ...box.workers]) {
      places.set(`the output of ${url}`, log.map((line) => JSON.stringify(line)).join('\n') + stray.join('\n'));
      places.set(
        `the metrics of ${url}`,
        await (await fetch(`${url}/metrics`, { headers: here.headersOf('root') })).text(),
      );
    }
    expect(places.get('public.connections')).toContain('ada');
    const found = [...places].flatMap(([place, text]) =>
      [...canaries].flatMap((canary) => (text.includes(canary) ? `${canary.split('-')[0]} in ${place}` : [])),
    );
    expect(found).toEqual([]);
  },
);
