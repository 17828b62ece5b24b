// A worker that stops for longer than its lease, through SIGSTOP or a blocked event loop: it is given up, its late outcome
// is dropped, and it serves again afterwards.
import { once } from 'node:events';
import pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import { WebSocket } from 'undici';
import { readSse } from '../support/read-sse.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { type HeldWeb, openHeldWeb } from '../support/held-web.js';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';

let box: Signalbox;
let web: HeldWeb;

beforeAll(async () => {
  web = await openHeldWeb();
  const environment = { TOOLS_FETCH_ALLOW: '127.0.0.1', NODE_OPTIONS: '--inspect=127.0.0.1:0' };
  box = await startSignalbox({ environment });
});
afterAll(async () => {
  await box?.close();
  web?.close();
});

const call = (body: object, accept: string) =>
  fetch(`${box.url}/api/tools/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept },
    body: JSON.stringify(body),
  });

async function recorded(callId: string) {
  const client = new pg.Client({ connectionString: box.databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ state: string }>('select state from audit_events where call_id = $1', [
      callId,
    ]);
    const { rows: states } = await client.query<{ state: string }>('select state from tool_calls where id = $1', [
      callId,
    ]);
    return { audits: rows.map(({ state }) => state), state: states[0]?.state };
  } finally {
    await client.end();
  }
}

/** Blocks the event loop of a real worker with a statement that a debugger runs in it. */
async function blockLoop(ms: number): Promise<void> {
  const reported = box.workers[0]!.stray.find((line) => line.startsWith('Debugger listening on '));
  const socket = new WebSocket(reported!.replace('Debugger listening on ', ''));
  await once(socket as unknown as NodeJS.EventEmitter, 'open');
  const expression = `{ const until = Date.now() + ${ms}; while (Date.now() < until); }`;
  socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression } }));
}

const still = {
  SIGSTOP: async () => {
    box.workers[0]!.kill('SIGSTOP');
    return async () => box.workers[0]!.kill('SIGCONT');
  },
  'a blocked loop': async () => {
    const over = new Promise((resolve) => setTimeout(resolve, 20_000));
    await blockLoop(20_000);
    return () => over;
  },
};

for (const [how, stop] of Object.entries(still)) {
  verifies('reliability.worker-stands-still', `in an unsafe tool: ${how}`, async () => {
    const path = `/${how.replaceAll(' ', '-')}`;
    const answer = await call(
      { name: 'fetch', arguments: { url: `${web.url}${path}`, method: 'POST' } },
      'text/event-stream',
    );
    const reported = readSse(answer);
    await web.reached(path);
    const since = performance.now();
    const goOn = await stop();
    const { events } = await reported;
    const tookMs = performance.now() - since;
    expect(events.at(-1)).toMatchObject({
      type: 'tool_result',
      result: { success: false, error: { code: 'tool_outcome_unknown' } },
    });
    expect(tookMs).toBeLessThan(withinMs(15_000));
    const id = events.at(-1)!['tool_call_id'] as string;

    web.answer(path);
    await goOn();
    const late = (line: Record<string, unknown>) =>
      line['message'] === 'tool call run' &&
      line['tool'] === 'fetch' &&
      (line['metadata'] as { ended?: string }).ended === 'stale';
    const before = box.workers[0]!.log.filter(late).length;
    await expect
      .poll(() => box.workers[0]!.log.filter(late).length, { timeout: 15_000 })
      .toBeGreaterThanOrEqual(Math.max(1, before));
    const again = async () => (await call({ name: 'get_time', arguments: {} }, 'application/json')).status;
    await expect.poll(again, { timeout: 15_000, interval: 200 }).toBe(200);
    expect(await recorded(id)).toEqual({ audits: ['indeterminate'], state: 'indeterminate' });
    expect(web.count(path)).toBe(1);
    // Unsafe calls too: the worker counts as alive, and keeps its claims.
    const next = call(
      { name: 'fetch', arguments: { url: `${web.url}${path}-next`, method: 'POST' } },
      'application/json',
    );
    await web.reached(`${path}-next`);
    web.answer(`${path}-next`);
    expect((await next).status).toBe(200);
  });
}
