// Rates of keys through every API, on three gateways. In the project `redis` the counters are in Redis.
import OpenAI from 'openai';
import { afterAll, beforeAll, expect } from 'vitest';
import { type SignalboxHere, startSignalboxHere, toolsReady } from '../support/services/start-signalbox.js';
import { eventually } from '../support/eventually.js';
import { verifies } from '../verifies.js';

let box: SignalboxHere;
let admin: string;
const messages = [{ role: 'user' as const, content: 'Hello' }];

async function send(url: string, path: string, body: object, key?: string) {
  const headers = { 'content-type': 'application/json', ...(key === undefined ? {} : { 'x-api-key': key }) };
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text };
}

async function makeKey(owner: string, limits: object): Promise<string> {
  const body = { owner, scopes: ['chat', 'tools', 'files'], limits };
  const { status, text } = await send(box.url, '/api/keys', body, admin);
  expect(status).toBe(201);
  return (JSON.parse(text) as { key: string }).key;
}

beforeAll(async () => {
  box = await startSignalboxHere({ script: () => ({ text: 'Hello' }), gateways: 3 });
  await Promise.all(box.gateways.map(({ url }) => toolsReady(url)));
  const { text } = await send(box.url, '/api/keys', { owner: 'root', scopes: ['admin'] });
  admin = (JSON.parse(text) as { key: string }).key;
  for (const { url } of box.gateways) {
    await eventually(async () => (await fetch(`${url}/v1/models`)).status === 401);
  }
});
afterAll(() => box?.close());

verifies('limits.rates-exact', 'ten times the limit of two keys of one owner, on three gateways at once', async () => {
  const limit = 24;
  const keys = [
    await makeKey('ann', { requests_per_minute: limit }),
    await makeKey('ann', { requests_per_minute: limit }),
  ];
  const statuses = await Promise.all(
    keys.map((key) =>
      Promise.all(
        Array.from({ length: limit * 10 }, async (_, number) => {
          const { url } = box.gateways[number % 3]!;
          return (await send(url, '/v1/chat/completions', { messages }, key)).status;
        }),
      ),
    ),
  );
  for (const of of statuses) {
    expect(of.filter((status) => status === 200)).toHaveLength(limit);
    expect(of.filter((status) => status === 429)).toHaveLength(limit * 9);
  }
});

verifies('limits.rates-reported', 'in the shape of each', async () => {
  const key = await makeKey('bob', { requests_per_minute: 6 });
  const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_time', arguments: {} } };
  const requests: [string, object][] = [
    ['/v1/chat/completions', { messages }],
    ['/api/chat/completions', { messages, stream: true }],
    ['/v1/messages', { messages, max_tokens: 9 }],
    ['/v1/responses', { input: 'Hello' }],
    ['/api/tools/call', { name: 'get_time', arguments: {} }],
    ['/mcp', rpc],
  ];
  for (const [index, [path, body]] of requests.entries()) {
    const { status, headers } = await send(box.url, path, body, key);
    expect([path, status === 200 || path === '/mcp']).toEqual([path, true]);
    expect(headers.get('x-ratelimit-limit-requests')).toBe('6');
    expect(headers.get('x-ratelimit-remaining-requests')).toBe(String(5 - index));
    expect(headers.get('x-ratelimit-reset-requests')).toMatch(/^1m\d+s$/);
    expect(headers.get('x-ratelimit-limit-tokens')).toBe('1000000');
    expect(headers.get('x-ratelimit-remaining-tokens')).toMatch(/^\d+$/);
  }
  for (const [path, body] of requests) {
    const { status, headers, text } = await send(box.url, path, body, key);
    expect([path, status, text.includes('rate_limit')]).toEqual([path, 429, true]);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(30);
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
    expect(headers.get('x-ratelimit-remaining-requests')).toBe('0');
  }
  const client = new OpenAI({ baseURL: `${box.url}/v1`, apiKey: key, maxRetries: 0 });
  await expect(client.chat.completions.create({ model: 'scripted/m', messages })).rejects.toMatchObject({
    status: 429,
    code: 'rate_limit_exceeded',
    type: 'rate_limit_error',
  });
  // Reading is not counted.
  expect((await fetch(`${box.url}/v1/models`, { headers: { 'x-api-key': key } })).status).toBe(200);
  const metrics = await (await fetch(`${box.url}/metrics`)).text();
  expect(metrics).toMatch(/signalbox_rate_limited_total\{limit="requests_per_minute"\} \d+/);
});

verifies('limits.rates-tokens', 'as the model counts them', async () => {
  // A turn of the script has 15.
  const key = await makeKey('cid', { tokens_per_minute: 20 });
  const ask = (url: string) => send(url, '/v1/chat/completions', { messages }, key);
  expect((await ask(box.url)).status).toBe(200);
  expect((await ask(box.url)).status).toBe(200);
  const refused = await ask(box.url);
  expect([refused.status, refused.headers.get('x-ratelimit-remaining-tokens')]).toEqual([429, '0']);
  await eventually(async () => (await ask(box.gateways[1]!.url)).status === 429);
  const metrics = await (await fetch(`${box.url}/metrics`)).text();
  expect(metrics).toMatch(/signalbox_rate_limited_total\{limit="tokens_per_minute"\} 1/);
});
