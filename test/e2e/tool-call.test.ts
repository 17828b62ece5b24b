import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { Call } from '../../apps/gateway/turn/call.js';
import { contentText } from '#libs/schemas/content-block.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { PutBack } from '#libs/backing/job-queue.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import type { ToolProgress } from '../../apps/gateway/turn/dispatch/tool-runner.js';
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

let services: Services;
let worker: TestWorker;
let gateway: TestGateway;

beforeAll(async () => {
  services = await openServices();
  worker = await openWorker(services);
  gateway = await openGateway(services);
});
afterAll(async () => {
  await gateway?.close();
  await worker?.close();
  await services?.close();
});
beforeEach(async () => {
  // After a test that gave up the worker, the gateway needs to see it again.
  await vi.waitFor(() => expect(gateway.runner.hasWorker()).toBe(true), { timeout: 10_000 });
  worker.probe.effects.length = 0;
  worker.probe.aborted.length = 0;
});

interface Ask {
  args?: object;
  context?: Partial<RequestContext>;
  sessionId?: string;
  timeoutMs?: number;
  onProgress?: (progress: ToolProgress) => void;
}

async function call(name: string, { args = {}, context, sessionId = 'sess_a', timeoutMs, onProgress }: Ask = {}) {
  const request = { name, argumentsText: JSON.stringify(args), sessionId };
  const prepared = await gateway.calls.prepare(
    timeoutMs === undefined ? request : { ...request, timeoutMs },
    requestContext(context),
  );
  return prepared.run(onProgress ?? (() => undefined));
}

/** The state of a call in the journal, and the number of its audit rows. */
async function journaled(callId: string): Promise<[string, number] | undefined> {
  const [row] = await services.rows<{ state: string; audits: string }>(
    'select state, (select count(*) from audit_events where call_id = $1) as audits from tool_calls where id = $1',
    [callId],
  );
  return row && [row.state, Number(row.audits)];
}

verifies('tools.call-through-queue', 'outcome, journal and audit agree', async () => {
  const progress: ToolProgress[] = [];
  const { id, outcome } = await call('echo', { args: { text: 'hello' }, onProgress: (each) => progress.push(each) });
  expect(outcome).toMatchObject({ state: 'completed', blocks: [{ type: 'text', text: 'sess_a: hello' }] });
  expect(outcome.queueWaitMs).toBeGreaterThanOrEqual(0);
  expect(progress.map(({ status }) => status)).toEqual(['queued', 'running']);
  expect(await journaled(id)).toEqual(['completed', 1]);
  const unsafe = await call('append', { args: { text: 'once' } });
  expect(unsafe.outcome.state).toBe('completed');
  expect(worker.probe.effects).toEqual(['once']);
  expect(await journaled(unsafe.id)).toEqual(['completed', 1]);
});

verifies('tools.call-through-queue', 'failures are outcomes with their code', async () => {
  const plain = await call('fail');
  expect(plain.outcome).toMatchObject({ state: 'failed', error: { code: 'tool_failed', message: 'The tool failed' } });
  const coded = await call('fail', { args: { code: 'x' } });
  expect(coded.outcome.error?.code).toBe('path_outside_workspace');
  expect(await journaled(coded.id)).toEqual(['failed', 1]);
});

verifies('tools.refused-calls-audited', 'bad arguments; a name that is none', async () => {
  await expect(call('echo', { args: { text: 1 } })).rejects.toMatchObject({
    code: 'invalid_tool_arguments',
    http: 422,
    message: 'Tool execution failed: Invalid arguments for echo: text must be string, got number',
  });
  const rows = await services.rows("select name from audit_events where error_code = 'invalid_tool_arguments'");
  expect(rows).toEqual([{ name: 'echo' }]);
  await expect(call('unknown_tool')).rejects.toMatchObject({ code: 'tool_not_found', http: 404 });
  const unknown = await services.rows(
    "select name, server, success from audit_events where error_code = 'tool_not_found'",
  );
  expect(unknown).toEqual([{ name: 'unknown_tool', server: '', success: false }]);
});

verifies('tools.cancel-reaches-tool', 'the caller is gone', async () => {
  const gone = new AbortController();
  let abortedAt = 0;
  const { id, outcome } = await call('slow', {
    args: { ms: 20_000 },
    context: { signal: gone.signal },
    onProgress: ({ status }) => {
      if (status !== 'running') return;
      setTimeout(() => {
        abortedAt = Date.now();
        gone.abort();
      }, 100);
    },
  });
  expect(outcome).toMatchObject({ state: 'cancelled', error: { code: 'cancelled' } });
  await expect.poll(() => worker.probe.aborted.length).toBe(1);
  expect(worker.probe.aborted[0]! - abortedAt).toBeLessThan(withinMs(1_000));
  expect(await journaled(id)).toEqual(['cancelled', 1]);
});

verifies('tools.cancel-reaches-tool', 'a tool that hears nothing is left behind', async () => {
  const gone = new AbortController();
  const startedAt = Date.now();
  const { id, outcome } = await call('stubborn', {
    args: { ms: 2_000 },
    context: { signal: gone.signal },
    onProgress: ({ status }) => void (status === 'running' && gone.abort()),
  });
  expect(outcome.state).toBe('cancelled');
  expect(Date.now() - startedAt).toBeLessThan(withinMs(1_500));
  await expect.poll(() => worker.probe.effects, { timeout: 5_000 }).toEqual(['stubborn']);
  expect(await journaled(id)).toEqual(['cancelled', 1]);
});

test('a call that was cancelled before it began never runs', async () => {
  const gone = AbortSignal.abort(new Error('gone'));
  const { id, outcome } = await call('append', { args: { text: 'never' }, context: { signal: gone } }).catch(
    (error: unknown) => {
      throw new Error('must resolve', { cause: error });
    },
  );
  expect(outcome.state).toBe('cancelled');
  await delay(300);
  expect(worker.probe.effects).toEqual([]);
  expect(await journaled(id)).toEqual(['cancelled', 1]);
});

verifies('tools.deadlines', 'silence ends a call', async () => {
  const { id, outcome } = await call('slow', { args: { ms: 20_000 }, timeoutMs: 300 });
  expect(outcome).toMatchObject({ state: 'failed', error: { code: 'tool_timeout' } });
  await expect.poll(() => worker.probe.aborted.length).toBe(1);
  expect(await journaled(id)).toEqual(['failed', 1]);
});

verifies('tools.deadlines', 'progress extends it up to the maximum', async () => {
  const args = { ms: 20_000, progress: true };
  const request = { name: 'slow', argumentsText: JSON.stringify(args), sessionId: 'sess_a' };
  const { tool, context } = await gateway.calls.prepare(request, requestContext());
  const startedAt = Date.now();
  const shown: ToolProgress[] = [];
  const limited = { ...tool, timeoutMs: 300, maxTimeoutMs: 1_000 };
  const call = gateway.runner.plan(new Call(context.callId, tool.name).of('server', context), limited, args);
  const outcome = await gateway.runner.run(call, (each) => shown.push(each));
  expect(outcome.error?.code).toBe('tool_timeout');
  expect(Date.now() - startedAt).toBeGreaterThan(900);
  expect(Date.now() - startedAt).toBeLessThan(withinMs(2_500));
  expect(shown.at(-1)).toMatchObject({ status: 'running', total: 20_000, message: 'on the way' });
});

verifies('tools.results-clamped', 'the whole is a file of the workspace', async () => {
  const bytes = services.config.tools.max_result_bytes * 2;
  const { id, outcome } = await call('large', { args: { bytes }, sessionId: 'sess_large' });
  expect(outcome).toMatchObject({ state: 'completed', truncated: true });
  expect(contentText(outcome.blocks)).toContain(`/mcp_workspaces/sess_large/.results/${id}.txt`);
  const [session] = await services.rows<{ directory: string }>(
    "select directory from sessions where id = 'sess_large'",
  );
  const path = join(services.config.data_dir, 'workspaces', session!.directory, '.results', `${id}.txt`);
  expect((await readFile(path, 'utf8')).length).toBe(bytes);
});

verifies('tools.calls-at-once-bounded', 'those of one session wait in order', async () => {
  const limit = services.config.limits.session_calls;
  worker.probe.mostRunning = 0;
  const ended = await Promise.all(
    Array.from({ length: limit + 4 }, () => call('slow', { args: { ms: 150 }, sessionId: 'sess_many' })),
  );
  expect(ended.map(({ outcome }) => outcome.state)).toEqual(Array.from({ length: limit + 4 }, () => 'completed'));
  expect(worker.probe.mostRunning).toBeLessThanOrEqual(limit);
  expect(worker.probe.mostRunning).toBeGreaterThan(1);
});

verifies('tools.calls-at-once-bounded', 'those of one principal, over all of its sessions', async () => {
  const { session_calls, principal_calls } = services.config.limits;
  const sessions = Math.ceil((principal_calls + 8) / session_calls);
  worker.probe.mostRunning = 0;
  const ended = await Promise.all(
    Array.from({ length: sessions * session_calls }, (_each, at) =>
      call('slow', { args: { ms: 150 }, sessionId: `sess_of_many_${at % sessions}` }),
    ),
  );
  expect(new Set(ended.map(({ outcome }) => outcome.state))).toEqual(new Set(['completed']));
  expect(worker.probe.mostRunning).toBeLessThanOrEqual(principal_calls);
  expect(worker.probe.mostRunning).toBeGreaterThan(session_calls);
});

verifies('reliability.replies-may-be-lost', 'the journal is looked into', async () => {
  const { channels } = services.backing;
  const publish = channels.publish.bind(channels);
  channels.publish = async (channel, message, signal) => {
    if (!channel.startsWith('replies:')) await publish(channel, message, signal);
  };
  try {
    const startedAt = Date.now();
    const { outcome } = await call('append', { args: { text: 'unheard' } });
    expect(outcome.state).toBe('completed');
    expect(Date.now() - startedAt).toBeLessThan(withinMs(3_000));
    expect(worker.probe.effects).toEqual(['unheard']);
  } finally {
    channels.publish = publish;
  }
});

test('a safe call that takes its time is claimed, its outcome still one', async () => {
  const running = call('readSlowly', { args: { ms: 2_500 } });
  const claimed = "select worker from tool_calls where name = 'readSlowly' and state = 'dispatched'";
  await expect.poll(() => services.rows(claimed), { timeout: 2_400 }).toEqual([{ worker: worker.id }]);
  const { id, outcome } = await running;
  expect(outcome.state).toBe('completed');
  expect(await journaled(id)).toEqual(['completed', 1]);
});

async function deliveredTwice(given: { givenUp: boolean }) {
  await untilWorkerIsKnown();
  const prepared = await gateway.calls.prepare(
    { name: 'slow', argumentsText: '{"ms":2500}', sessionId: 'sess_a' },
    requestContext(),
  );
  let other: TestWorker | undefined;
  // Opened only after the first worker has the call, which it might take otherwise.
  const again = async () => {
    other = await openWorker(services);
    // What a reaper does to a worker that stopped.
    if (given.givenUp) await services.rows('delete from processes where id = $1', [worker.id]);
    const [row] = await services.rows<{ job: ToolJob }>('select job from tool_calls where id = $1', [
      prepared.context.callId,
    ]);
    await other.worker.jobs.handle({ job: row!.job, redelivered: true });
  };
  try {
    let twice: Promise<unknown> | undefined;
    const { id, outcome } = await prepared.run(({ status }) => {
      if (status === 'running') twice ??= again().catch((error: unknown) => error);
    });
    const thrown = await twice;
    await expect.poll(() => worker.probe.running, { timeout: 10_000 }).toBe(0);
    await delay(500);
    return { outcome, thrown, journaled: await journaled(id) };
  } finally {
    await other?.close();
    await untilWorkerIsKnown();
  }
}

/** A worker that was given up registers again with its next heartbeat, and the gateway sees it at its next check. */
async function untilWorkerIsKnown(): Promise<void> {
  const known = () => services.rows('select id from processes where id = $1', [worker.id]);
  await expect.poll(known, { timeout: 10_000 }).toHaveLength(1);
  await expect.poll(() => gateway.runner.hasWorker(), { timeout: 10_000 }).toBe(true);
}

test('a redelivered unsafe call whose worker was given up is indeterminate, its late outcome dropped', async () => {
  const { outcome, thrown, journaled } = await deliveredTwice({ givenUp: true });
  expect(thrown).toBe(undefined);
  expect(outcome).toMatchObject({ state: 'indeterminate', error: { code: 'tool_outcome_unknown' } });
  expect(journaled).toEqual(['indeterminate', 1]);
});

test('a redelivered unsafe call whose worker lives is left to it', async () => {
  const { outcome, thrown, journaled } = await deliveredTwice({ givenUp: false });
  expect(thrown).toBeInstanceOf(PutBack);
  expect(outcome.state).toBe('completed');
  expect(journaled).toEqual(['completed', 1]);
});

verifies('reliability.lost-jobs-added-again', 'a planned call whose job is missing', async () => {
  const { queue } = services.backing;
  const add = queue.add.bind(queue);
  let lost = 0;
  queue.add = async (job, options) => {
    lost += 1;
    if (lost > 1) await add(job, options);
  };
  try {
    const { outcome } = await call('append', { args: { text: 'found' } });
    expect(outcome.state).toBe('completed');
    expect(worker.probe.effects).toEqual(['found']);
  } finally {
    queue.add = add;
  }
});

verifies('tools.catalog-names', 'the first server keeps the bare name', async () => {
  expect(gateway.catalog.find('echo')).toMatchObject({ server: 'workspace', safe: true, readOnly: true });
  expect(gateway.catalog.find('workspace__echo')?.name).toBe('echo');
  for (const alike of ['Echo', 'ｅｃｈｏ', 'workspace__workspace__echo', '__proto__', 'constructor']) {
    expect(gateway.catalog.find(alike)).toBeUndefined();
  }
  expect(gateway.catalog.hasServer('workspace')).toBe(true);
  expect(gateway.runner.hasWorker()).toBe(true);
});

verifies('tools.catalog-announced', 'a tool that comes and goes', async () => {
  const before = gateway.catalog.version;
  const { z } = await import('zod');
  const handler = () => 'new';
  const options = { description: 'New.', input: z.object({}) };
  worker.server.register({ name: 'later', place: 'here', options, handler });
  await expect.poll(() => gateway.catalog.find('later'), { timeout: 1_000, interval: 20 }).toBeDefined();
  expect(gateway.catalog.version).not.toBe(before);
  expect((await call('later')).outcome.state).toBe('completed');
  worker.server.remove('later');
  await expect.poll(() => gateway.catalog.find('later'), { timeout: 1_000, interval: 20 }).toBeUndefined();
  expect(gateway.catalog.version).toBe(before);
});
