// SIGTERM during work: no new work is accepted, running work ends, status 0; a second signal ends it immediately.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import { postJson, readSse } from '../support/read-sse.js';
import { type Signalbox, startSignalbox, toolsReady } from '../support/services/start-signalbox.js';
import { type HeldWeb, openHeldWeb } from '../support/held-web.js';
import { rounds, workspaceTools } from '../support/scripts.js';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';

let box: Signalbox;
let web: HeldWeb;
let path: string;

beforeAll(async () => {
  web = await openHeldWeb();
  const fetching = () => ({
    toolCalls: [{ name: 'fetch', arguments: { url: `${web.url}${path}`, method: 'POST' } }],
  });
  box = await startSignalbox({
    gateways: 0,
    workers: 0,
    script: rounds(fetching, { text: 'the end' }),
    environment: { TOOLS_FETCH_ALLOW: '127.0.0.1' },
  });
});
afterAll(async () => {
  await box?.close();
  web?.close();
});

async function fresh() {
  await Promise.all([...box.gateways.splice(0), ...box.workers.splice(0)].map((each) => each.stop()));
  const [worker, gateway] = await Promise.all([box.startWorker(), box.startGateway()]);
  await toolsReady(gateway.url);
  path = `/${randomUUID()}`;
  return { worker, gateway };
}

const turn = { messages: [{ role: 'user', content: 'go' }], tools: [workspaceTools], stream: true };
const codeOf = async (answer: Response) => ((await answer.json()) as { error?: { code: string } }).error?.code;

async function attempts(): Promise<{ attempt: number; state: string }[]> {
  const client = new pg.Client({ connectionString: box.databaseUrl });
  await client.connect();
  try {
    const text = 'select attempt, state from tool_calls where name = $1 and arguments::text like $2';
    return (await client.query<{ attempt: number; state: string }>(text, ['fetch', `%${path}%`])).rows;
  } finally {
    await client.end();
  }
}

verifies('reliability.worker-drains', 'SIGTERM with a call running: it ends, nothing is delivered again', async () => {
  const { worker, gateway } = await fresh();
  const reported = readSse(await postJson(`${gateway.url}/api/chat/completions`, turn));
  await web.reached(path);
  const ended = worker.stop();
  await worker.logged((line) => line['message'] === 'stopping: SIGTERM');
  expect((await fetch(`${worker.url}/health/ready`)).status).toBe(503);
  const other = await box.startWorker({ LOG_LEVEL: 'debug' });
  web.answer(path);
  const answeredAt = performance.now();
  expect(await ended).toBe(0);
  expect(performance.now() - answeredAt).toBeLessThan(withinMs(5_000));
  const { events, done } = await reported;
  expect(events.find((event) => event['type'] === 'tool_result')).toMatchObject({ result: { success: true } });
  expect(done).toBe(true);
  expect(await attempts()).toEqual([{ attempt: 1, state: 'completed' }]);
  expect(web.count(path)).toBe(1);
  expect(other.log.filter((line) => line['message'] === 'tool call run')).toEqual([]);
});

verifies('reliability.second-signal', 'a worker with a call, a gateway with a stream', async () => {
  const { worker, gateway } = await fresh();
  const reported = readSse(await postJson(`${gateway.url}/api/chat/completions`, turn)).then(
    ({ done }) => done,
    () => false,
  );
  await web.reached(path);
  for (const process of [gateway, worker]) {
    process.kill('SIGTERM');
    await process.logged((line) => line['message'] === 'stopping: SIGTERM');
    const since = performance.now();
    process.kill('SIGTERM');
    expect(await process.ended).toEqual({ code: 1, signal: null });
    expect(performance.now() - since).toBeLessThan(withinMs(1_000));
  }

  expect(await reported).toBe(false);
});

verifies('reliability.gateway-drains', 'SIGTERM with a stream and a tool call under way', async () => {
  const { gateway } = await fresh();
  const reported = readSse(await postJson(`${gateway.url}/api/chat/completions`, turn));
  await web.reached(path);
  const args = { url: `${web.url}${path}-api`, method: 'POST' };
  const tool = postJson(`${gateway.url}/api/tools/call`, { name: 'fetch', arguments: args });
  await web.reached(`${path}-api`);
  const ended = gateway.stop();
  await gateway.logged((line) => line['message'] === 'stopping: SIGTERM');
  expect((await fetch(`${gateway.url}/health/ready`)).status).toBe(503);
  const refused = await Promise.all([
    postJson(`${gateway.url}/v1/chat/completions`, { messages: turn.messages }),
    postJson(`${gateway.url}/api/chat/completions`, turn),
    postJson(`${gateway.url}/api/tools/call`, { name: 'get_time', arguments: {} }),
  ]);
  expect(refused.map(({ status }) => status)).toEqual([503, 503, 503]);
  expect(refused.every(({ headers }) => Number(headers.get('retry-after')) > 0)).toBe(true);
  expect(await Promise.all(refused.map(codeOf))).toEqual(Array(3).fill('shutting_down'));
  web.answer(path);
  const { events, done } = await reported;
  expect(events.at(-1)).toMatchObject({ type: 'done', finish_reason: 'stop' });
  expect(done).toBe(true);
  web.answer(`${path}-api`);
  const answeredAt = performance.now();
  expect((await tool).status).toBe(200);
  expect(await ended).toBe(0);
  expect(performance.now() - answeredAt).toBeLessThan(withinMs(5_000));
});
