// PostgreSQL becomes unavailable for a gateway and a worker, refusing connections or silent, and returns.
import { rm, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, onTestFinished } from 'vitest';
import { type Signalbox, startSignalbox, toolsReady } from '../support/services/start-signalbox.js';
import type { StartedProcess } from '../support/services/start-process.js';
import type { ReceivedRequest, ScriptedAnswer } from '../support/scripted-upstream.js';
import { type FaultProxy, openFaultProxy } from '../contract/fault-proxy.js';
import { type HeldWeb, openHeldWeb } from '../support/held-web.js';
import { getTime, OutageProbe, plainChat } from '../support/outage-probe.js';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';

let box: Signalbox;
let web: HeldWeb;
let proxy: FaultProxy;
let gateway: StartedProcess;
let workers: StartedProcess[];

function database(): { host: string; port: number } {
  const { hostname, port } = new URL(box.databaseUrl);
  return { host: hostname, port: Number(port || 5432) };
}

function through({ port }: FaultProxy): string {
  const proxied = new URL(box.databaseUrl);
  proxied.host = `127.0.0.1:${port}`;
  return proxied.href;
}

/** Holding a path of the web server also holds the model. */
async function answer({ body }: ReceivedRequest): Promise<ScriptedAnswer> {
  if (JSON.stringify(body['messages']).includes('held')) await fetch(`${web.url}/model`);
  return { text: 'plain' };
}

beforeAll(async () => {
  web = await openHeldWeb();
  const environment = { TOOLS_FETCH_ALLOW: '127.0.0.1', METRICS_TOKEN: 'a-token-of-the-operator' };
  box = await startSignalbox({ gateways: 0, workers: 0, script: answer, environment });
  proxy = await openFaultProxy(database());
  // Two workers: a job whose lock expired may go to the other one.
  workers = await Promise.all([1, 2].map(() => box.startWorker({ DATABASE_URL: through(proxy) })));
  gateway = await box.startGateway({ DATABASE_URL: through(proxy) });
  await toolsReady(gateway.url);
});
afterEach(() => proxy.restore());
afterAll(async () => {
  await box?.close();
  await proxy?.close();
  web?.close();
});

const probe = new OutageProbe(() => gateway.url);
const timed = (path: string, body: object) => probe.post(path, body);

const post = (path: string) => ({ name: 'fetch', arguments: { url: `${web.url}${path}`, method: 'POST' } });
const workspace = [{ type: 'mcp', server_label: 'workspace' }];

/** Outcomes spooled to disk, as each worker reports them: they share the directory. */
async function spoolRows(): Promise<number[]> {
  const headers = { authorization: 'Bearer a-token-of-the-operator' };
  const rows = workers.map(async ({ url }) => {
    const text = await (await fetch(`${url}/metrics`, { headers })).text();
    return Number(/^signalbox_audit_spool_rows (\d+)$/m.exec(text)![1]);
  });
  return Promise.all(rows);
}

const audits = (callId: string) =>
  box.rows<{ state: string }>('select state from audit_events where call_id = $1', [callId]);

verifies('reliability.start-waits-for-store', 'a gateway and a worker begin while the database is away', async () => {
  const begin = async (of: 'startGateway' | 'startWorker') => {
    const later = await openFaultProxy(database());
    onTestFinished(() => later.close());
    later.refuse();
    const starting = box[of]({ DATABASE_URL: through(later) });
    // It was refused and has retried.
    await expect.poll(() => later.asked, { timeout: 60_000 }).toBeGreaterThan(1);
    later.restore();
    return starting;
  };
  const [begun, worker] = await Promise.all([begin('startGateway'), begin('startWorker')]);
  await toolsReady(begun.url);
  for (const each of [begun, worker]) {
    expect(each.log.some((line) => String(line['message']).endsWith('waits for its store'))).toBe(true);
    expect(await each.stop()).toBe(0);
  }
});

for (const how of ['refuse', 'silence'] as const) {
  verifies('reliability.store-away-refused', `new tool calls, while the database is away: ${how}`, async () => {
    await probe.servesAgain();
    proxy[how]();
    for (let round = 0; round < 3; round += 1) {
      const [tool, turn, keyed] = await Promise.all([
        timed('/api/tools/call', getTime),
        timed('/api/chat/completions', { ...plainChat, tools: workspace }),
        timed('/v1/chat/completions', { ...plainChat, on_disconnect: 'detach' }),
      ]);
      probe.expectRefused([tool, turn, keyed]);
    }
    await probe.expectPlainChats();
    proxy.restore();
    expect(await probe.servesAgain()).toBeLessThan(withinMs(10_000));
    await expect.poll(async () => (await probe.ready()).slice(0, 3), { timeout: 10_000 }).toBe('200');
  });
}

for (const [path, how, awayMs] of [
  ['/short', 'refuse', 0],
  ['/past-the-lease', 'refuse', 18_000],
  ['/silent-past-the-lease', 'silence', 18_000],
] as const) {
  verifies('reliability.store-away-spooled', `the database is away at the end of a call: ${path}`, async () => {
    await probe.servesAgain();
    const call = timed('/api/tools/call', post(path));
    await web.reached(path);
    proxy[how]();
    web.answer(path);
    await expect.poll(spoolRows, { timeout: 15_000 }).toEqual(workers.map(() => 1));
    // Waits for time itself: leases and locks must expire.
    await new Promise((resolve) => setTimeout(resolve, awayMs));
    proxy.restore();
    const { status, reported } = await call;
    expect(status).toBe(200);
    await expect.poll(spoolRows, { timeout: 10_000 }).toEqual(workers.map(() => 0));
    expect(await audits(reported.id!)).toEqual([{ state: 'completed' }]);
    expect(web.count(path)).toBe(1);
    await probe.servesAgain();
    expect(await audits(reported.id!)).toHaveLength(1);
  });
}

verifies(
  'reliability.store-away-spooled',
  'the disk of the spool is away too: kept until the store is back',
  async () => {
    await probe.servesAgain();
    const call = timed('/api/tools/call', post('/no-disk'));
    await web.reached('/no-disk');
    const spool = join(dirname(box.workspacesDir), 'spool');
    await rm(spool, { recursive: true });
    proxy.refuse();
    web.answer('/no-disk');
    const kept = (line: Record<string, unknown>) =>
      line['message'] === 'an outcome cannot be spooled: it is kept in memory';
    await Promise.any(workers.map((worker) => worker.logged(kept)));
    proxy.restore();
    const { status, reported } = await call;
    expect(status).toBe(200);
    expect(await audits(reported.id!)).toEqual([{ state: 'completed' }]);
    expect(web.count('/no-disk')).toBe(1);
    await expect(readdir(spool)).rejects.toThrow();
  },
);

verifies('reliability.store-away-ends', 'refused, while a model answers in a stored turn', async () => {
  await probe.servesAgain();
  const turn = timed('/v1/responses', { input: 'held' });
  await web.reached('/model');
  proxy.refuse();
  web.answer('/model');
  expect((await turn).status).toBe(200);
  const runs = () => box.rows('select state, answer is not null as reported from runs');
  proxy.restore();
  await expect.poll(runs, { timeout: 10_000, interval: 50 }).toEqual([{ state: 'done', reported: true }]);
});
