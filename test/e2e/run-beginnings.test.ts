import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ScriptedAnswer } from '../support/scripted-upstream.js';
import { type SignalboxHere, startSignalboxHere, toolsReady } from '../support/services/start-signalbox.js';
import { post, workspaceTools } from '../support/scripts.js';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';

let script: ScriptedAnswer = { text: 'hello' };
let box: SignalboxHere;
let store: pg.Client;

beforeAll(async () => {
  box = await startSignalboxHere({ script: () => script, environment: { DATABASE_TIMEOUT_MS: '2000' } });
  store = new pg.Client({ connectionString: box.databaseUrl });
  await store.connect();
  await toolsReady(box.url);
});
afterAll(async () => {
  await store?.end();
  await box?.close();
});

const ask = (headers: Record<string, string> = {}) => {
  const body = { messages: [{ role: 'user', content: 'hello' }], tools: [workspaceTools] };
  return post(box.url, '/v1/chat/completions', body, headers);
};

/** Blocks writes of runs during `work`, which must take less than the store's deadline. */
async function withRunsLocked<T>(work: () => Promise<T>): Promise<T> {
  await store.query('begin');
  await store.query('lock table runs in exclusive mode');
  try {
    return await work();
  } finally {
    await store.query('rollback');
  }
}

const untilSomethingWaits = () =>
  expect
    .poll(
      async () =>
        (await store.query(`select from pg_locks where not granted and relation = 'runs'::regclass`)).rowCount,
      { timeout: 5_000, interval: 20 },
    )
    // The search for runs of dead processes waits as well.
    .toBeGreaterThan(0);

const asked = () => box.upstream.requests.length;
const runs = async () => (await store.query<{ state: string }>('select state from runs order by created_at')).rows;

verifies('chat.runs.begin', 'the model is asked meanwhile', async () => {
  const answer = await withRunsLocked(async () => {
    const answering = ask();
    await box.upstream.received(1);
    await untilSomethingWaits();
    return { answering };
  });
  const { status, headers } = await answer.answering;
  expect(status).toBe(200);
  // The end may be written after the answer.
  await expect.poll(runs, { timeout: 5_000 }).toEqual([{ state: 'done' }]);
  const { rows } = await store.query<{ id: string }>('select id from runs');
  expect(rows).toEqual([{ id: headers.get('x-run-id') }]);
});

test('with a key the model is not asked before the run is known to be the only one', async () => {
  const before = asked();
  const { answering } = await withRunsLocked(async () => {
    const started = ask({ 'idempotency-key': 'one' });
    await untilSomethingWaits();
    expect(asked()).toBe(before);
    return { answering: started };
  });
  expect((await answering).status).toBe(200);
  expect(asked()).toBe(before + 1);
});

verifies(
  'chat.runs.begin',
  'it cannot be written: refused, no model call goes on, and the next one waits for the store',
  async () => {
    expect((await ask()).status).toBe(200);
    const before = asked();
    script = { text: 'never', end: 'stall' };
    await withRunsLocked(async () => {
      const startedAt = performance.now();
      const refused = await ask();
      expect(performance.now() - startedAt).toBeLessThan(withinMs(4_500));
      expect(refused).toMatchObject({ status: 503, body: { error: { code: 'store_unavailable' } } });
      expect(asked()).toBe(before + 1);
      await box.upstream.requests.at(-1)!.clientGone;
      expect(await ask()).toMatchObject({ status: 503 });
      expect(asked()).toBe(before + 1);
    });
    script = { text: 'hello' };
    expect((await ask()).status).toBe(200);
    await expect.poll(async () => (await runs()).at(-1), { timeout: 5_000 }).toEqual({ state: 'done' });
  },
);
