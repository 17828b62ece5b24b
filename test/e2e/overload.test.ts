// Ten times as many turns as a gateway accepts, and a principal above its share: the surplus is refused while the others
// still run, and leaves nothing behind.
import pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import type { StartedHere } from '../support/services/start-here.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { effects, messagesOf, post, turnOf } from '../support/scripts.js';
import { verifies } from '../verifies.js';

const limit = 20;
let box: SignalboxHere;
let reported: Promise<void>;
let goOn!: () => void;

const hold = () => {
  reported = new Promise<void>((resolve) => (goOn = resolve));
};

beforeAll(async () => {
  hold();
  box = await startSignalboxHere({
    script: async (request) => {
      await reported;
      const said = messagesOf(request)[0]!['content'] as string;
      if (said === 'fail') return { status: 500, json: { error: { message: 'broken' } } };
      return said.startsWith('turn_') || said === 'later' ? effects(request) : { text: 'hi' };
    },
    environment: { LIMITS_TURNS: String(limit) },
  });
});
afterAll(() => box?.close());

verifies('chat.overload', '200 turns at once where 20 are taken', async () => {
  const names = Array.from({ length: 10 * limit }, (_, at) => `turn_${at}`);
  let refusedSoFar = 0;
  const answers = names.map(async (name) => {
    const answer = await post(box.url, '/api/chat/completions', turnOf(name));
    if (answer.status !== 200) refusedSoFar += 1;
    return { name, ...answer };
  });
  // The model has not sent anything yet.
  await expect.poll(() => refusedSoFar, { timeout: 20_000 }).toBe(names.length - limit);
  goOn();
  const [taken, refused] = [[], []] as Awaited<(typeof answers)[number]>[][];
  for (const answer of await Promise.all(answers)) (answer.status === 200 ? taken : refused)!.push(answer);
  expect(taken!.map(({ body }) => body.choices[0]!.message.content)).toEqual(taken!.map(({ name }) => `done ${name}`));
  for (const { status, headers, body } of refused!) {
    expect([status, body.error?.code]).toEqual([429, 'concurrency_exceeded']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }
  const client = new pg.Client({ connectionString: box.databaseUrl });
  await client.connect();
  const { rows } = await client.query('select count(*)::int as runs from runs');
  await client.end();
  expect(rows).toEqual([{ runs: limit }]);
  expect((await post(box.url, '/api/chat/completions', turnOf('later'))).status).toBe(200);
});

const chat = { model: 'scripted/model', messages: [{ role: 'user', content: 'hi' }] };
const toolCall = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_time', arguments: {} } };
const refusedAt: [path: string, body: object][] = [
  ['/v1/chat/completions', chat],
  ['/api/chat/completions', { ...chat, stream: true }],
  ['/v1/messages', { ...chat, max_tokens: 9 }],
  ['/v1/messages/count_tokens', chat],
  ['/v1/responses', { model: 'scripted/model', input: 'hi' }],
  ['/api/tools/call', { name: 'get_time' }],
  ['/mcp', toolCall],
];

/** The code of the refusal; each API has its own shape. */
async function refusal(url: string, path: string, body: object): Promise<unknown[]> {
  const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' };
  const answer = await post(url, path, body, path === '/mcp' ? headers : {});
  const error = answer.body.error as unknown as { code?: unknown; data?: { code: string } } | undefined;
  return [path, answer.status, error?.data?.code ?? error?.code, answer.headers.get('retry-after')];
}

verifies('chat.overload.principal', 'two places, given back by an end, a caller who goes, a failure', async () => {
  const both = [1, 2].map(() => box.startGateway({ LIMITS_PRINCIPAL_TURNS: '2' }));
  const [{ url }, another] = (await Promise.all(both)) as [StartedHere, StartedHere];
  const ask = (content: string, more: RequestInit = {}) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content }], stream: content === 'stream' }),
      ...more,
    });
  const asked = box.upstream.requests.length;
  hold();
  const gone = new AbortController();
  const left = ask('stream', { signal: gone.signal }).catch(() => undefined);
  const failing = ask('fail');
  await box.upstream.received(asked + 2);
  const refusals = await Promise.all(refusedAt.map(([path, body]) => refusal(url, path, body)));
  expect(refusals).toEqual(refusedAt.map(([path]) => [path, 429, 'concurrency_exceeded', '1']));
  // Another gateway refuses it too.
  const [path, body] = refusedAt[0]!;
  expect(await refusal(another.url, path, body)).toEqual([path, 429, 'concurrency_exceeded', '1']);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain(`signalbox_rate_limited_total{limit="principal_turns"} ${refusedAt.length}\n`);
  gone.abort();
  await left;
  goOn();
  expect((await failing).status).toBe(502);
  // Both places are free again, and no more than both.
  await expect.poll(async () => (await ask('plain')).status, { timeout: 10_000 }).toBe(200);
  hold();
  const before = box.upstream.requests.length;
  // A place is given back beside the answer: again after 429, as clients do.
  const placed = async (content: string): Promise<Response> => {
    const answer = await ask(content);
    return answer.status === 429 ? placed(content) : answer;
  };
  const taken = [placed('one'), placed('two')];
  await box.upstream.received(before + 2);
  expect((await ask('three')).status).toBe(429);
  goOn();
  expect((await Promise.all(taken)).map(({ status }) => status)).toEqual([200, 200]);
});
