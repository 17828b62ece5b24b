import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { WorkerFaultPoint } from '#libs/config/fault-points.js';
import { silentLogger } from '#libs/logging/logger.js';
import { publishReapedCall } from '#libs/runs/publish-reaped-call.js';
import { Reaper } from '#libs/runs/reaper.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { openGateway, openServices, requestContext, type Services, type TestGateway } from '../support/queue-path.js';
import { startWorkerProcess, type WorkerProcess } from '../support/worker-process.js';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';

let services: Services;
let gateway: TestGateway;
/** As every gateway has one: who died is judged while the next worker still starts. */
let reaper: Reaper;
const workers: WorkerProcess[] = [];

beforeAll(async () => {
  services = await openServices();
  gateway = await openGateway(services);
  const { database, backing } = services;
  const publishOutcome = publishReapedCall(backing.channels);
  reaper = new Reaper({ database, queue: backing.queue, logger: silentLogger, publishOutcome });
  reaper.start();
});
afterAll(async () => {
  await reaper?.close();
  await gateway?.close();
  await services?.close();
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.kill()));
});

async function start(fault?: string): Promise<WorkerProcess> {
  const worker = await startWorkerProcess({
    databaseUrl: services.url,
    dataDir: services.config.data_dir,
    ...(fault === undefined ? {} : { fault }),
  });
  workers.push(worker);
  await expect
    .poll(() => gateway.runner.hasWorker() && gateway.catalog.find('write_file'), { timeout: 10_000 })
    .toBeTruthy();
  return worker;
}

interface Case {
  tool: 'write_file' | 'read_file';
  point: WorkerFaultPoint;
  session: string;
}

/** One call; its worker kills itself at the point, another one comes. */
async function survive({ tool, point, session }: Case): Promise<{ outcome: ToolOutcome; id: string; tookMs: number }> {
  const first = await start(point);
  const args = tool === 'write_file' ? { path: 'effect.txt', content: 'x', append: true } : { path: 'effect.txt' };
  const request = { name: tool, argumentsText: JSON.stringify(args), sessionId: session };
  const prepared = await gateway.calls.prepare(request, requestContext({ deadline: Date.now() + 60_000 }));
  const ended = prepared.run(() => undefined);
  expect((await first.ended).signal).toBe('SIGKILL');
  const killedAt = Date.now();
  await start();
  const { outcome, id } = await ended;
  const tookMs = Date.now() - killedAt;
  await untilQueueIsEmpty();
  return { outcome, id, tookMs };
}

/** A call may be judged before its job comes again: that delivery must not meet the next test's worker. */
async function untilQueueIsEmpty(): Promise<void> {
  const { queue } = services.backing;
  const left = async () => {
    const { waiting, active } = await queue.counts(AbortSignal.timeout(2_000));
    return waiting + active;
  };
  await expect.poll(left, { timeout: 30_000, interval: 200 }).toBe(0);
}

async function recorded(id: string, session: string): Promise<{ state: string; audits: number; effects: number }> {
  const [row] = await services.rows<{ state: string; audits: string; directory: string }>(
    `select state, directory, (select count(*) from audit_events where call_id = $1) as audits
     from tool_calls left join sessions on sessions.id = $2 where tool_calls.id = $1`,
    [id, session],
  );
  const path = join(services.config.data_dir, 'workspaces', row!.directory ?? 'none', 'effect.txt');
  const effect = await readFile(path, 'utf8').catch(() => '');
  return { state: row!.state, audits: Number(row!.audits), effects: effect.length };
}

const unsafe: [WorkerFaultPoint, string, number][] = [
  ['before-dispatch', 'completed', 1],
  ['after-dispatch', 'indeterminate', 0],
  ['after-effect', 'indeterminate', 1],
  ['after-outcome', 'completed', 1],
  ['before-reply', 'completed', 1],
  ['before-ack', 'completed', 1],
];

for (const [point, state, effects] of unsafe) {
  verifies('reliability.worker-killed-unsafe', point, async () => {
    const session = `sess_${point}`;
    const { outcome, id, tookMs } = await survive({ tool: 'write_file', point, session });
    expect(outcome.state).toBe(state);
    if (state === 'indeterminate') {
      expect(outcome.error?.code).toBe('tool_outcome_unknown');
      expect(tookMs).toBeLessThan(withinMs(15_000));
    }
    expect(tookMs).toBeLessThan(withinMs(25_000));
    expect(await recorded(id, session)).toEqual({ state, audits: 1, effects });
  });
}

for (const point of ['before-dispatch', 'after-effect'] as const) {
  verifies('reliability.worker-killed-safe', point, async () => {
    const session = `sess_safe_${point}`;
    await start();
    const setUp = await gateway.calls.prepare(
      { name: 'write_file', argumentsText: '{"path":"effect.txt","content":"x"}', sessionId: session },
      requestContext(),
    );
    expect((await setUp.run(() => undefined)).outcome.state).toBe('completed');
    // A worker that is killed before it acknowledged would leave this call's job to the worker with the fault.
    await untilQueueIsEmpty();
    await Promise.all(workers.splice(0).map((worker) => worker.kill()));
    const { outcome, id } = await survive({ tool: 'read_file', point, session });
    expect(outcome).toMatchObject({ state: 'completed', blocks: [{ type: 'text', text: 'x' }] });
    expect(await recorded(id, session)).toEqual({ state: 'completed', audits: 1, effects: 1 });
  });
}

verifies('reliability.worker-drains', 'SIGTERM ends it in order once nothing runs', async () => {
  const worker = await start();
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toEqual({ code: 0, signal: null });
});
