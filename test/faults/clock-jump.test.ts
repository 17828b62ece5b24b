// The wall clocks of a gateway and a worker are set forward and back by an hour during a call and a turn.
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { processExpiryMs } from '#libs/runs/processes/process-registry.js';
import { postJson } from '../support/read-sse.js';
import { type Signalbox, startSignalbox, toolsReady } from '../support/services/start-signalbox.js';
import type { StartedProcess } from '../support/services/start-process.js';
import { type HeldWeb, openHeldWeb } from '../support/held-web.js';
import { expectEffectsAsRecorded, expectOneRecordEach } from '../support/joined-records.js';
import { effects, messagesOf, post, turnOf } from '../support/scripts.js';
import { verifies } from '../verifies.js';

const preload = fileURLToPath(new URL('fixtures/jumping-clock.mjs', import.meta.url));

let box: Signalbox;
let web: HeldWeb;
let release: () => void;
const released = new Promise<void>((resolve) => (release = resolve));

beforeAll(async () => {
  web = await openHeldWeb();
  const environment = { TOOLS_FETCH_ALLOW: '127.0.0.1', NODE_OPTIONS: `--import=${preload}` };
  box = await startSignalbox({
    script: async (request) => {
      const messages = messagesOf(request);
      if (messages[0]!['content'] === 'held' && messages.length > 1) await released;
      return effects(request);
    },
    environment,
  });
});
afterAll(async () => {
  await box?.close();
  web?.close();
});

async function jump(each: StartedProcess): Promise<void> {
  const before = each.stray.length;
  each.kill('SIGUSR2');
  await expect.poll(() => each.stray.slice(before).join('\n'), { timeout: 15_000 }).toContain('the clock is');
}

/** Expects a turn in which each call has run. */
async function expectTurn(name: string): Promise<void> {
  const { status, body } = await post(box.url, '/api/chat/completions', turnOf(name), { 'idempotency-key': name });
  expect([name, status, body.choices?.[0]?.message.content]).toEqual([name, 200, `done ${name}`]);
  expect(body.tool_execution!.calls.map(({ success }) => success)).toEqual([true, true]);
}

verifies('reliability.clock-jump', 'ahead and back, the gateway’s and the worker’s against each other', async () => {
  const [gateway, worker] = [box.gateways[0]!, box.workers[0]!];
  // An unsafe call and a turn, both under way.
  const args = { url: `${web.url}/held`, method: 'POST' };
  const call = postJson(`${box.url}/api/tools/call`, { name: 'fetch', arguments: args, timeout_ms: 120_000 });
  await web.reached('/held');
  const turn = expectTurn('held');
  await box.upstream.received(2);

  await Promise.all([jump(gateway), jump(worker).then(() => jump(worker))]);
  // The rest of its work is still in time.
  release();
  await turn;
  await expectTurn('gateway-ahead');
  // Waits for time itself: any process that could be given up would be by then.
  await delay(processExpiryMs + 2_000);
  await Promise.all([jump(gateway), jump(worker)]);
  await expectTurn('worker-ahead');
  await delay(processExpiryMs + 2_000);

  web.answer('/held');
  expect((await call).status).toBe(200);
  expect(web.count('/held')).toBe(1);
  await expectOneRecordEach(box, 10_000);
  await expectEffectsAsRecorded(box);
});

verifies('reliability.clock-jump', 'a worker that begins with another clock than the gateway’s', async () => {
  for (const worker of box.workers) worker.kill('SIGKILL');
  await Promise.all(box.workers.map(({ ended }) => ended));
  await box.startWorker({ CLOCK_AHEAD_MS: '3600000' });
  await toolsReady(box.url);
  for (const [name, args] of [
    ['get_time', {}],
    ['write_file', { path: 'effect.txt', content: 'x' }],
  ] as const) {
    const answer = await postJson(`${box.url}/api/tools/call`, { name, arguments: args, session_id: 'begun' });
    expect([name, answer.status]).toEqual([name, 200]);
  }
});
