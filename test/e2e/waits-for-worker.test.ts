// The only worker stops and another starts: calls wait for it, as long as they may.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { Deadline } from '#libs/concurrency/deadline.js';
import { Call } from '../../apps/gateway/turn/call.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintCallId } from '#libs/schemas/identifiers.js';
import {
  openGateway,
  openServices,
  openWorker,
  requestContext,
  type Services,
  type TestGateway,
  type TestWorker,
} from '../support/queue-path.js';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';

const waitMs = 4_000;
let services: Services;
let gateway: TestGateway;
let worker: TestWorker | undefined;

beforeAll(async () => {
  services = await openServices({ TOOLS_WORKER_WAIT_MS: String(waitMs) });
  worker = await openWorker(services);
  gateway = await openGateway(services);
});
afterAll(async () => {
  await gateway?.close();
  await worker?.close();
  await services?.close();
});

async function withoutWorker(): Promise<void> {
  await worker?.close();
  await expect.poll(() => gateway.runner.hasWorker(), { timeout: 10_000 }).toBe(false);
}

/** Plans a call like a turn does: journaled before it waits. */
async function planned(given: Partial<CallContext> = {}, timeoutMs?: number) {
  const found = gateway.catalog.find('append')!;
  const tool = { ...found, timeoutMs: timeoutMs ?? found.timeoutMs };
  const args = { text: 'waited' };
  const context: CallContext = {
    ...requestContext({ deadline: new Deadline(steadyNow() + 30_000) }),
    callId: mintCallId(true),
    sessionId: 'sess_wait',
    priority: 'interactive',
    ...given,
  };
  const call = gateway.runner.plan(new Call(context.callId, tool.name).of('server', context), tool, args);
  await services.journal.plan(call.row, call.audit);
  return { id: context.callId, run: () => gateway.runner.run(call, () => undefined) };
}

const stateOf = async (id: string) => (await services.journal.get(id))?.state;

async function refusal(run: () => Promise<unknown>): Promise<{ code: string | undefined; afterMs: number }> {
  const startedAt = performance.now();
  const error = await run().catch((thrown: unknown) => thrown);
  return { code: error instanceof AppError ? error.code : undefined, afterMs: performance.now() - startedAt };
}

verifies('tools.waits-for-worker', 'one that comes after a second runs what waited', async () => {
  await withoutWorker();
  const call = await planned();
  const outside = gateway.calls
    .prepare({ name: 'append', argumentsText: '{"text":"outside"}' }, requestContext())
    .then((prepared) => prepared.run(() => undefined));
  const running = call.run();
  await delay(1_000);
  expect(await stateOf(call.id)).toBe('planned');
  worker = await openWorker(services);
  expect((await running).state).toBe('completed');
  expect((await outside).outcome.state).toBe('completed');
  expect(worker.probe.effects.sort()).toEqual(['outside', 'waited']);
});

verifies('tools.waits-for-worker', 'none comes: no_worker after the wait, or after the time of the call', async () => {
  await withoutWorker();
  const call = await planned();
  const [long, short, outside] = await Promise.all([
    refusal(call.run),
    planned({}, 300).then(({ run }) => refusal(run)),
    refusal(() => gateway.calls.prepare({ name: 'append', argumentsText: '{"text":"x"}' }, requestContext())),
  ]);
  expect([long.code, short.code, outside.code]).toEqual(['no_worker', 'no_worker', 'no_worker']);
  for (const { afterMs } of [long, outside]) expect(afterMs).toBeGreaterThanOrEqual(waitMs - 50);
  expect(short.afterMs).toBeLessThan(withinMs(2_000));
  expect(await stateOf(call.id)).toBe('cancelled');
});

verifies('tools.waits-for-worker', 'cancelled while it waits', async () => {
  await withoutWorker();
  const caller = new AbortController();
  const call = await planned({ signal: caller.signal });
  const running = call.run();
  await delay(200);
  const startedAt = performance.now();
  caller.abort(new AppError('cancelled', 'The client has gone'));
  expect((await running).state).toBe('cancelled');
  expect(performance.now() - startedAt).toBeLessThan(withinMs(1_000));
  expect(await stateOf(call.id)).toBe('cancelled');
});
