// Without a worker, turns with tools are refused at once and leave nothing behind; turns with a key continue later.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { postJson } from '../support/read-sse.js';
import { type Signalbox, startSignalbox, toolsReady } from '../support/services/start-signalbox.js';
import { post, rounds, workspaceTools } from '../support/scripts.js';
import { verifies } from '../verifies.js';

let box: Signalbox;
beforeAll(async () => {
  const script = rounds(
    { toolCalls: [{ name: 'write_file', arguments: { path: 'a.txt', content: 'x', append: true } }] },
    { text: 'written' },
  );
  // The tools stay known after their worker has stopped.
  box = await startSignalbox({ script, environment: { TOOLS_WORKER_WAIT_MS: '300' } });
  expect(await box.workers.pop()!.stop()).toBe(0);
  // The gateway notices within seconds; until then, calls wait for a worker.
  const probe = { ...tool('probe'), timeout_ms: 300 };
  const refused = async () => (await post(box.url, '/api/tools/call', probe)).status;
  await vi.waitFor(async () => expect(await refused()).toBe(503), { timeout: 10_000, interval: 100 });
});
afterAll(() => box?.close());

const tool = (content: string) => ({ name: 'write_file', arguments: { path: 'b.txt', content, append: true } });
const turn = { messages: [{ role: 'user', content: 'go' }], tools: [workspaceTools] };

async function counts() {
  const client = new pg.Client({ connectionString: box.databaseUrl });
  await client.connect();
  try {
    const count = async (sql: string) => Number((await client.query<{ count: string }>(sql)).rows[0]!.count);
    return {
      runs: await count('select count(*) from runs'),
      calls: await count('select count(*) from tool_calls'),
      running: await count("select count(*) from runs where state in ('running', 'waiting')"),
    };
  } finally {
    await client.end();
  }
}

verifies('chat.no-worker', 'both dialects, streamed and not; a plain chat goes on', async () => {
  const [before, asked] = [await counts(), box.upstream.requests.length];
  for (const path of ['/api/chat/completions', '/v1/chat/completions']) {
    for (const stream of [false, true]) {
      const answer = await postJson(`${box.url}${path}`, { ...turn, stream });
      expect(answer.status).toBe(503);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await answer.json()).toMatchObject({ error: { type: 'overloaded_error', code: 'no_worker' } });
    }
  }
  expect(box.upstream.requests).toHaveLength(asked);
  expect(await counts()).toEqual(before);
  expect((await post(box.url, '/v1/chat/completions', { messages: turn.messages })).status).toBe(200);
});

verifies('tools.no-worker', 'the tools API, nothing journaled', async () => {
  const before = await counts();
  const answer = await post(box.url, '/api/tools/call', tool('x'));
  expect([answer.status, answer.body.error?.code]).toEqual([503, 'no_worker']);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await counts()).toEqual(before);
});

verifies('chat.no-worker', 'a keyed turn, and a keyed tool call, go on once a worker is there', async () => {
  const headers = { 'idempotency-key': randomUUID() };
  const toolHeaders = { 'idempotency-key': randomUUID() };
  for (let time = 0; time < 2; time += 1) {
    const refused = await post(box.url, '/api/chat/completions', turn, headers);
    expect([refused.status, refused.body.error?.code]).toEqual([503, 'no_worker']);
    const tools = await post(box.url, '/api/tools/call', tool('y'), toolHeaders);
    expect([tools.status, tools.body.error?.code]).toEqual([503, 'no_worker']);
  }
  await expect.poll(async () => (await counts()).running).toBe(0);
  await box.startWorker();
  await toolsReady(box.url);
  const status = async () => (await post(box.url, '/api/tools/call', tool('y'), toolHeaders)).status;
  await expect.poll(status, { timeout: 10_000 }).toBe(200);
  const answer = await post(box.url, '/api/chat/completions', turn, headers);
  expect(answer.status).toBe(200);
  expect(answer.body.tool_execution).toMatchObject({ executed: true, tools_called: ['write_file'] });
  const again = await post(box.url, '/api/chat/completions', turn, headers);
  expect(again.body.tool_execution).toEqual(answer.body.tool_execution);
  const session = (await post(box.url, '/api/tools/call', tool('y'), toolHeaders)).body as unknown as {
    session_id: string;
  };
  expect(await (await fetch(`${box.url}/api/sessions/${session.session_id}/files/b.txt`)).text()).toBe('y');
});
