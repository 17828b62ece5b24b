// Chimech asks models as the caller of its call: in the worker, and as a server of its own that the configuration marks. Two
// gateways with keys and a token issuer: calls come in at one, what they ask a model at the other.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { CallTokenKeys } from '#libs/access/call-token-keys.js';
import { CallTokenMint } from '#libs/access/call-tokens.js';
import { KeyStore, type NewKey } from '#libs/access/key-store.js';
import { type Database, openDatabase } from '#libs/postgres/open-database.js';
import type { ReceivedRequest, ScriptedAnswer } from '../support/scripted-upstream.js';
import { freePort } from '../support/services/free-port.js';
import { type StartedProcess, startProcess } from '../support/services/start-process.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { messagesOf, post } from '../support/scripts.js';
import { audience, startTokenIssuer, type TokenIssuer } from '../support/token-issuer.js';
import { verifies } from '../verifies.js';

const ownTools = fileURLToPath(new URL('../../dist/apps/chimech/own-tools.module.js', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'signalbox-callers-'));
const chimechKey = 'key-of-chimech-for-its-callers';
let box: Signalbox;
let issuer: TokenIssuer;
let chimech: StartedProcess;
let database: Database;
let keys: KeyStore;
let other: StartedProcess;
/** Runs when a model is asked for an e-mail. */
let onMail: () => Promise<unknown> = async () => undefined;

async function script(request: ReceivedRequest): Promise<ScriptedAnswer> {
  const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
  const messages = messagesOf(request);
  if (request.body['tools'] !== undefined) {
    if (messages.at(-1)!['role'] === 'tool')
      return { text: `It said: ${messages.at(-1)!['content'] as string}`, usage };
    return { toolCalls: [{ id: 'a', name: 'chimech_query', arguments: { question: 'Why?' } }], usage };
  }
  if (JSON.stringify(messages).includes('e-mail')) await onMail();
  return { text: `answer of ${request.body['model'] as string}`, usage };
}

const makeKey = async (owner: string, more: Partial<NewKey> = {}) => {
  const by = { principal: 'root', requestId: 'req_1' };
  const { key, stored } = await keys.create({ owner, scopes: ['chat', 'tools'], roles: [], ...more }, by);
  return { key, id: stored.id };
};
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
/** The result of a call by the API of tools. */
async function call(key: string, tool: string, args: object): Promise<string> {
  const { body } = await post(box.url, '/api/tools/call', { name: tool, arguments: args }, bearer(key));
  return JSON.stringify(body);
}
const ask = (key: string, tool = 'chimech/query') => call(key, tool, { question: 'Why?' });

beforeAll(async () => {
  issuer = await startTokenIssuer();
  const [chimechPort, gatewayPort] = [await freePort(), await freePort()];
  const address = `http://127.0.0.1:${chimechPort}/mcp`;
  const headers = { Authorization: '${CHIMECH_API_KEY}' };
  const mcpServers = {
    marked: { url: address, headers, trusted: true, act_for_caller: true },
    foreign: { url: address, headers, trusted: true },
  };
  const file = join(directory, 'signalbox.yaml');
  writeFileSync(file, JSON.stringify({ mcpServers, models: { aliases: { small: 'scripted/small-1' } } }));
  box = await startSignalbox({
    script,
    gateways: 0,
    workers: 0,
    environment: {
      SIGNALBOX_CONFIG: file,
      CHIMECH_API_KEY: `Bearer ${chimechKey}`,
      POLICY_DEFAULT: 'by_origin',
      AUTH_JWT_ISSUER: issuer.url,
      AUTH_JWT_AUDIENCE: audience,
      MODELS_PRICES: JSON.stringify({ 'scripted/*': { input: 100_000, output: 100_000 } }),
      CHIMECH_GATEWAY_URL: `http://127.0.0.1:${gatewayPort}`,
    },
  });
  database = openDatabase({ url: box.databaseUrl, poolSize: 2, timeoutMs: 5_000, applicationName: 'test' });
  keys = new KeyStore(database);
  box.url = (await box.startGateway()).url;
  other = await box.startGateway({ PORT: String(gatewayPort) });
  chimech = await startProcess('chimech', {
    environment: {
      CHIMECH_PORT: String(chimechPort),
      CHIMECH_API_KEY: chimechKey,
      CHIMECH_GATEWAY_URL: other.url,
      DATABASE_URL: box.databaseUrl,
    },
  });
  await box.startWorker({ WORKER_MODULES: JSON.stringify([ownTools]) });
  const { key } = await makeKey('nobody');
  await vi.waitFor(
    async () => {
      const answer = await fetch(`${box.url}/api/tools`, { headers: bearer(key) });
      const text = await answer.text();
      for (const server of ['marked', 'foreign']) expect(text).toContain(`${server}__`);
    },
    { timeout: 25_000, interval: 100 },
  );
}, 150_000);
afterAll(async () => {
  chimech?.kill('SIGKILL');
  await database?.close();
  await box?.close();
  await issuer?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const spent = async (principal: string) =>
  (
    await box.rows<{ key_id: string; tokens: string; requests: string }>(
      `select key_id, sum(prompt_tokens + completion_tokens)::text as tokens, sum(requests)::text as requests
       from usage_days where principal = $1 group by key_id`,
      [principal],
    )
  )[0];

for (const tool of ['chimech/query', 'marked__chimech/query']) {
  verifies('chimech.acts-for-caller', `${tool}: usage and audit name the caller and the call`, async () => {
    const owner = `alice of ${tool}`;
    // A caller of tools only: what a tool asks a model is a part of the call.
    const { key, id } = await makeKey(owner, { scopes: ['tools'] });
    expect(await ask(key, tool)).toContain('answer of model');
    await vi.waitFor(async () => expect(await spent(owner)).toMatchObject({ key_id: id, tokens: '10' }), 5_000);
    const rows = await vi.waitFor(async () => {
      const found = await box.rows<Record<string, string>>(
        `select kind, state, call_id, key_id, policy_rule, name from audit_events where principal = $1 order by kind`,
        [owner],
      );
      expect(found).toHaveLength(2);
      return found;
    }, 5_000);
    expect(rows).toMatchObject([
      { kind: 'model_call', state: 'completed', key_id: id, call_id: rows[1]!['call_id'], name: 'scripted/model' },
      { kind: 'tool_call', state: 'completed', key_id: id, policy_rule: 'default:acts-for-caller' },
    ]);
  });
}

verifies('chimech.conversation', 'of two callers by one worker, of equal names', async () => {
  const asked = async (owner: string, question: string) => {
    const { key } = await makeKey(owner);
    return call(key, 'marked__chimech/query', { question, conversation_id: 'plans' });
  };
  await asked('judy', 'What is the secret plan of judy?');
  const before = box.upstream.requests.length;
  await asked('mallory', 'What was said before?');
  await asked('judy', 'And then?');
  const [foreign, own] = box.upstream.requests.slice(before).map(({ body }) => JSON.stringify(body));
  expect(foreign).not.toContain('secret plan');
  expect(own).toContain('secret plan');
});

verifies('chimech.acts-for-caller', 'in a chat of a key with one turn at once, and by /mcp', async () => {
  const { key } = await makeKey('carol', { limits: { turns: 1 } });
  const body = { messages: [{ role: 'user', content: 'Ask' }], tools: [{ type: 'mcp', server_label: 'chimech' }] };
  const { body: answer } = await post(box.url, '/v1/chat/completions', body, bearer(key));
  expect(answer.choices[0]!.message.content).toContain('It said: answer of model');
  const client = new Client({ name: 'judge', version: '1' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${box.url}/mcp`), { requestInit: { headers: bearer(key) } }),
  );
  try {
    const { tools } = await client.listTools();
    const { name } = tools.find((tool) => /^chimech.query$/.test(tool.name))!;
    const result = await client.callTool({ name, arguments: { question: 'Why?' } });
    expect(JSON.stringify(result)).toContain('answer of model');
  } finally {
    await client.close();
  }
});

verifies('chimech.acts-for-caller', 'a user of a token issuer', async () => {
  const token = await issuer.token({ claims: { sub: 'dora' } });
  expect(await ask(token)).toContain('answer of model');
  await vi.waitFor(async () => expect(await spent('dora')).toMatchObject({ key_id: '', tokens: '10' }), 5_000);
});

verifies('chimech.acts-for-caller', 'with the models of the key only', async () => {
  const { key: small } = await makeKey('eve', { models: ['small'] });
  expect(await ask(small)).toContain('answer of small-1');
  const { key: none } = await makeKey('eve', { models: ['another'] });
  expect(await ask(none)).toContain('No model is allowed');
});

verifies('chimech.acts-for-caller', 'until the budget of the key is used up', async () => {
  const { key } = await makeKey('frank', { budgets: { day_usd: 0.5 } });
  // Its form is wrong, so a second request follows: the first has cost a dollar.
  const text = await call(key, 'chimech/generate', { prompt: 'An e-mail', type: 'email' });
  expect(text).toContain('Your budget of $0.5 for this day is used up');
});

verifies('chimech.acts-for-caller', 'not once the key is revoked, while the call runs', async () => {
  const { key, id } = await makeKey('grace');
  onMail = async () => {
    onMail = async () => undefined;
    await keys.revoke(id, { principal: 'root', requestId: 'req_2' });
    await vi.waitFor(
      async () => expect((await fetch(`${other.url}/v1/models`, { headers: bearer(key) })).status).toBe(401),
      5_000,
    );
  };
  // Its form is wrong, so a second request follows.
  const text = await call(key, 'chimech/generate', { prompt: 'An e-mail', type: 'email' });
  expect(text).toContain('The gateway rejected the caller');
  const rows = await box.rows(`select state, key_id from audit_events where kind = 'sign_in_failed' and key_id = $1`, [
    id,
  ]);
  expect(rows).toContainEqual({ state: 'revoked', key_id: id });
});

verifies('chimech.acts-for-caller', 'a server that is not marked gets no token', async () => {
  const { key } = await makeKey('heidi');
  const name = 'foreign__chimech/query';
  const { status, body } = await post(
    box.url,
    '/api/tools/call',
    { name, arguments: { question: 'Why?' } },
    bearer(key),
  );
  // As any server elsewhere, it waits for an approval, which this caller cannot give here.
  expect([status, JSON.stringify(body)]).toEqual([expect.any(Number), expect.stringMatching(/approval/)]);
});

verifies('access.call-tokens', 'opens chats without server tools, and nothing else, for its time', async () => {
  const { key, id } = await makeKey('ivan');
  const mint = new CallTokenMint(new CallTokenKeys(database));
  const claims = { principal: 'ivan', keyId: id, callId: 'call_of_ivan' };
  const token = await mint.mint(claims, 60_000);
  const send = async (shown: string, path: string, body?: object) => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(other.url + path, {
      ...init,
      headers: { ...bearer(shown), 'content-type': 'application/json' },
    });
    return [answer.status, await answer.text()] as const;
  };
  const chat = { messages: [{ role: 'user', content: 'Hello' }] };
  expect(await send(token, '/v1/chat/completions', chat)).toEqual([200, expect.stringContaining('answer of model')]);
  for (const path of ['/v1/models', '/api/tools', '/api/approvals', '/api/usage', '/metrics', '/api/keys']) {
    expect(await send(token, path)).toEqual([403, expect.stringContaining('insufficient_scope')]);
  }
  for (const path of ['/v1/messages', '/v1/responses', '/api/chat/completions', '/api/tools/call', '/mcp']) {
    expect(await send(token, path, chat)).toEqual([403, expect.stringContaining('insufficient_scope')]);
  }
  const server = { ...chat, tools: [{ type: 'mcp', server_label: 'chimech' }] };
  expect((await send(key, '/v1/chat/completions', server))[0]).toBe(200);
  expect(await send(token, '/v1/chat/completions', server)).toEqual([400, expect.stringContaining('tool_not_found')]);
  const every = { ...chat, tools: [{ type: 'mcp', server_label: '*' }] };
  expect(await send(token, '/v1/chat/completions', every)).toEqual([200, expect.stringContaining('answer of model')]);
  const result = { messages: [...chat.messages, { role: 'tool', tool_call_id: 'a', content: 'approved' }] };
  expect((await send(token, '/v1/chat/completions', result))[0]).toBeGreaterThanOrEqual(400);

  const [head, payload, mac] = token.split('.') as [string, string, string];
  const forged = Buffer.from(JSON.stringify({ p: 'root', c: 'call_1', e: Date.now() + 60_000 })).toString('base64url');
  const wrong = [
    `${head}.${forged}.${mac}`,
    `${head}.${payload}.${mac.slice(0, -2)}AA`,
    `sbc_${'0'.repeat(36)}.${payload}.${mac}`,
    'sbc_',
    `${token}=`,
    await mint.mint(claims, -31_000),
    await mint.mint({ ...claims, keyId: 'key_none' }, 60_000),
    // Before the first key everybody was `local`.
    await mint.mint({ principal: 'local', callId: 'call_1' }, 60_000),
  ];
  for (const each of wrong) {
    const [status, text] = await send(each, '/v1/chat/completions', chat);
    expect([status, text]).toEqual([401, expect.stringContaining('invalid_api_key')]);
    if (each.length > 10) expect(text).not.toContain(each);
  }
});
