// A worker kills itself at each point of a call, and another one follows. Mostly waits for locks and leases to expire: each
// case has its own database, and several run concurrently.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject } from 'vitest';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { WorkerFaultPoint } from '#libs/config/fault-points.js';
import { silentLogger } from '#libs/logging/logger.js';
import { publishReapedCall } from '#libs/runs/processes/publish-reaped-call.js';
import { Reaper } from '#libs/runs/processes/reaper.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { eventually } from '../support/eventually.js';
import { type StartedProcess, startProcess } from '../support/services/start-process.js';
import { openGateway, openServices, requestContext, type Services, type TestGateway } from '../support/queue-path.js';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';

const inPart = inject('extent') === 'part';
const session = 'killed';
/** Up to three processes in sequence, while other cases start theirs. */
const caseMs = 300_000;

interface Scene {
  services: Services;
  gateway: TestGateway;
  start(fault?: WorkerFaultPoint): Promise<StartedProcess>;
}

async function onScene(play: (scene: Scene) => Promise<void>): Promise<void> {
  // A busy machine must not fail this test.
  const patient = { DATABASE_TIMEOUT_MS: '10000' };
  const services = await openServices(patient);
  const workers: StartedProcess[] = [];
  const closing: (() => Promise<void>)[] = [() => services.close()];
  try {
    const gateway = await openGateway(services);
    closing.push(() => gateway.close());
    const { database, backing } = services;
    const publishOutcome = publishReapedCall(backing.channels);
    // Runs as in every gateway: the death is judged while the next worker still starts.
    const reaper = new Reaper({ database, queue: backing.queue, logger: silentLogger, publishOutcome });
    reaper.start();
    closing.push(() => reaper.close());
    const start: Scene['start'] = async (fault) => {
      const environment = {
        ...services.environment,
        ...patient,
        ...(fault === undefined ? {} : { SIGNALBOX_FAULTS: fault }),
      };
      const worker = await startProcess('worker', { environment });
      workers.push(worker);
      const known = async () => gateway.runner.hasWorker() && gateway.catalog.find('write_file') !== undefined;
      await eventually(known, 30_000);
      return worker;
    };
    await play({ services, gateway, start });
  } finally {
    for (const worker of workers) worker.kill('SIGKILL');
    await Promise.all(workers.map(({ ended }) => ended));
    for (const close of closing.reverse()) await close();
  }
}

interface Survival {
  outcome: ToolOutcome;
  id: string;
  tookMs: number;
}

/** One call, whose worker kills itself at the given point before another starts. */
async function survive(scene: Scene, tool: 'write_file' | 'read_file', point: WorkerFaultPoint): Promise<Survival> {
  const { gateway, start, services } = scene;
  const first = await start(point);
  const args = tool === 'write_file' ? { path: 'effect.txt', content: 'x', append: true } : { path: 'effect.txt' };
  const request = { name: tool, argumentsText: JSON.stringify(args), sessionId: session };
  const prepared = await gateway.calls.prepare(
    request,
    requestContext({ deadline: new Deadline(steadyNow() + 60_000) }),
  );
  const ended = prepared.run(() => undefined);
  expect((await first.ended).signal).toBe('SIGKILL');
  const killedAt = performance.now();
  await start();
  const { outcome, id } = await ended;
  const tookMs = performance.now() - killedAt;
  await untilQueueIsEmpty(services);
  return { outcome, id, tookMs };
}

/** The call may be judged before its job is delivered again; that delivery must not change anything. */
async function untilQueueIsEmpty({ backing }: Services): Promise<void> {
  const isEmpty = async () => {
    const { waiting, active } = await backing.queue.counts(AbortSignal.timeout(2_000));
    return waiting + active === 0;
  };
  await eventually(isEmpty, 30_000);
}

async function recorded({ services }: Scene, id: string): Promise<{ state: string; audits: number; effects: number }> {
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

describe.concurrent('a worker is killed', () => {
  for (const [point, state, effects] of inPart ? unsafe.filter(([point]) => point === 'after-effect') : unsafe) {
    verifies(
      'reliability.worker-killed-unsafe',
      point,
      () =>
        onScene(async (scene) => {
          const { outcome, id, tookMs } = await survive(scene, 'write_file', point);
          expect(outcome.state).toBe(state);
          if (state === 'indeterminate') {
            expect(outcome.error?.code).toBe('tool_outcome_unknown');
            expect(tookMs).toBeLessThan(withinMs(15_000));
          }
          expect(tookMs).toBeLessThan(withinMs(25_000));
          expect(await recorded(scene, id)).toEqual({ state, audits: 1, effects });
        }),
      caseMs,
    );
  }

  for (const point of inPart ? (['after-effect'] as const) : (['before-dispatch', 'after-effect'] as const)) {
    verifies(
      'reliability.worker-killed-safe',
      point,
      () =>
        onScene(async (scene) => {
          const { gateway, services, start } = scene;
          const healthy = await start();
          const setUp = await gateway.calls.prepare(
            { name: 'write_file', argumentsText: '{"path":"effect.txt","content":"x"}', sessionId: session },
            requestContext(),
          );
          expect((await setUp.run(() => undefined)).outcome.state).toBe('completed');
          // A worker killed before it acknowledged would leave this call's job to the next worker with the fault.
          await untilQueueIsEmpty(services);
          healthy.kill('SIGKILL');
          await healthy.ended;
          const { outcome, id } = await survive(scene, 'read_file', point);
          expect(outcome).toMatchObject({ state: 'completed', blocks: [{ type: 'text', text: 'x' }] });
          expect(await recorded(scene, id)).toEqual({ state: 'completed', audits: 1, effects: 1 });
        }),
      caseMs,
    );
  }
});

verifies('reliability.worker-drains', 'SIGTERM ends it in order once nothing runs', () =>
  onScene(async ({ start }) => {
    const worker = await start();
    expect(await worker.stop()).toBe(0);
  }),
);
