// A gateway dies while a keyed tool call runs: a retry on any gateway gets its outcome, and the tool ran once.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import { readSse } from '../support/read-sse.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { type HeldWeb, openHeldWeb } from '../support/held-web.js';
import { verifies } from '../verifies.js';

let box: Signalbox;
let web: HeldWeb;
let database: pg.Pool;

async function rows<Row extends object>(sql: string, values: unknown[]): Promise<Row[]> {
  return (await database.query<Row>(sql, values)).rows;
}

beforeAll(async () => {
  web = await openHeldWeb();
  box = await startSignalbox({ gateways: 2, environment: { TOOLS_FETCH_ALLOW: '127.0.0.1' } });
  database = new pg.Pool({ connectionString: box.databaseUrl, max: 1 });
});
afterAll(async () => {
  await database?.end();
  await box?.close();
  web?.close();
});

const call = (to: string, path: string, { key, accept = 'application/json' }: { key: string; accept?: string }) =>
  fetch(`${to}/api/tools/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key, accept },
    body: JSON.stringify({ name: 'fetch', arguments: { url: `${web.url}${path}`, method: 'POST' } }),
  });

for (const when of ['during', 'after'] as const) {
  verifies('reliability.keyed-call-once', `its gateway is killed; asked again ${when} the call`, async () => {
    const [path, key] = [`/${when}`, randomUUID()];
    const doomed = await box.startGateway();
    const lost = call(doomed.url, path, { key }).catch(() => 'lost');
    await web.reached(path);
    doomed.kill('SIGKILL');
    expect(await lost).toBe('lost');
    if (when === 'after') web.answer(path);
    const json = call(box.gateways[0]!.url, path, { key });
    const stream = call(box.gateways[1]!.url, path, { key, accept: 'text/event-stream' });
    if (when === 'during') {
      // Past the gateway's lease: its run is interrupted by now, its call is not.
      await new Promise((resolve) => setTimeout(resolve, 10_000));
      web.answer(path);
    }
    const reported = await json;
    expect([reported.status, await reported.json()]).toMatchObject([
      200,
      { success: true, content: expect.stringContaining('effect') },
    ]);
    const { events, done } = await readSse(await stream);
    expect(events.at(-1)).toMatchObject({ type: 'tool_result', result: { success: true } });
    expect(done).toBe(true);
    expect(web.count(path)).toBe(1);
  });
}

verifies('reliability.keyed-call-once', 'its gateway stops before the call has ended', async () => {
  const [path, key] = ['/stopped', randomUUID()];
  const stopping = await box.startGateway({ SERVER_SHUTDOWN_GRACE_MS: '500' });
  const told = call(stopping.url, path, { key });
  await web.reached(path);
  expect(await stopping.stop()).toBe(0);
  expect((await told).status).toBe(503);
  const again = call(box.url, path, { key });
  web.answer(path);
  expect((await again).status).toBe(200);
  expect(web.count(path)).toBe(1);
});

verifies('reliability.keyed-call-cancelled', 'while its tool runs; asked again', async () => {
  const [path, key] = ['/cancelled', randomUUID()];
  const told = call(box.url, path, { key });
  await web.reached(path);
  const [run] = await rows<{ id: string }>('select id from runs where idempotency_key = $1', [key]);
  const cancelled = await fetch(`${box.gateways[1]!.url}/api/runs/${run!.id}`, { method: 'DELETE' });
  expect(await cancelled.json()).toMatchObject({ state: 'cancelled' });
  for (const answer of [await told, await call(box.gateways[1]!.url, path, { key })]) {
    expect([answer.status, await answer.json()]).toMatchObject([422, { error: { code: 'cancelled' } }]);
  }
  const states = await rows('select state from tool_calls where run_id = $1', [run!.id]);
  expect(states).toEqual([{ state: 'cancelled' }]);
});

verifies('reliability.keyed-call-once', 'a long one stays its gateway’s own, and then is done', async () => {
  const [path, key] = ['/long', randomUUID()];
  const asked = call(box.url, path, { key });
  await web.reached(path);
  const state = async () =>
    (await rows<{ state: string }>('select state from runs where idempotency_key = $1', [key]))[0]!.state;
  // Longer than the interval in which gateways look for orphaned runs.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  expect(await state()).toBe('running');
  web.answer(path);
  expect((await asked).status).toBe(200);
  await expect.poll(state, { timeout: 5_000 }).toBe('done');
});
