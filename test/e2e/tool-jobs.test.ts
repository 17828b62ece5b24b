import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test, vi } from 'vitest';
import { maxCarriedArgumentsBytes, type ToolJob } from '#libs/schemas/tool-job.js';
import { queuePathOfFile, requestContext } from '../support/queue-path.js';
import { verifies } from '../verifies.js';

const path = queuePathOfFile();

beforeAll(async () => {
  await vi.waitFor(() => expect(path.gateway.runner.hasWorker()).toBe(true), { timeout: 10_000 });
});

async function call(name: string, text: string) {
  const request = { name, argumentsText: JSON.stringify({ text }), sessionId: 'sess_a' };
  const prepared = await path.gateway.calls.prepare(request, requestContext());
  return prepared.run(() => undefined);
}

/** The state of a call in the journal, and the number of its audit rows. */
async function journaled(callId: string): Promise<[string, number] | undefined> {
  const [row] = await path.services.rows<{ state: string; audits: string }>(
    'select state, (select count(*) from audit_events where call_id = $1) as audits from tool_calls where id = $1',
    [callId],
  );
  return row && [row.state, Number(row.audits)];
}

test('only what is quick and safe goes together with others', async () => {
  const { queue } = path.services.backing;
  const add = queue.add.bind(queue);
  const together = new Map<string, boolean | undefined>();
  queue.add = async (job, options) => {
    together.set(job.name, options.together);
    await add(job, options);
  };
  try {
    const calls = ['echo', 'append'].flatMap((name) => Array.from({ length: 8 }, () => name));
    const ended = await Promise.all(calls.map((name) => call(name, name)));
    expect(new Set(ended.map(({ outcome }) => outcome.state))).toEqual(new Set(['completed']));
    expect(await Promise.all(ended.map(({ id }) => journaled(id)))).toEqual(calls.map(() => ['completed', 1]));
    expect(path.worker.probe.effects).toHaveLength(8);
    expect(Object.fromEntries(together)).toEqual({ echo: true, append: false });
  } finally {
    queue.add = add;
  }
});

const jobOf = async (callId: string): Promise<ToolJob> => {
  const [row] = await path.services.rows<{ job: ToolJob }>('select job from tool_calls where id = $1', [callId]);
  return row!.job;
};

/** Plans a call without putting it into a queue. */
async function planned(name: string, text = 'planned'): Promise<{ id: string }> {
  const request = { name, argumentsText: JSON.stringify({ text }), sessionId: 'sess_a' };
  const { context } = await path.gateway.calls.prepare(request, requestContext());
  return { id: context.callId };
}

/** Includes characters that grow when encoded by JSON, PostgreSQL or UTF-8. */
const largeText = 'NUL \u0000, half a pair \ud800, "é"'.repeat(1_000);

verifies('tools.large-arguments-by-journal', 'of a safe call and of an unsafe one; small ones go along', async () => {
  const { queue } = path.services.backing;
  const add = queue.add.bind(queue);
  const added: ToolJob[] = [];
  queue.add = async (job, options) => {
    added.push(job);
    await add(job, options);
  };
  try {
    const most = 'x'.repeat(maxCarriedArgumentsBytes - JSON.stringify({ text: '' }).length);
    const texts = ['small', most, `${most}x`, largeText];
    for (const text of texts) {
      const { outcome } = await call('echo', text);
      expect(outcome.blocks).toEqual([{ type: 'text', text: `sess_a: ${text}` }]);
      await call('append', text);
    }
    expect(path.worker.probe.effects.slice(-texts.length)).toEqual(texts);
    expect(added.map(({ version, arguments: carried }) => [version, carried !== undefined])).toEqual(
      [1, 1, 1, 1, 2, 2, 2, 2].map((version) => [version, version === 1]),
    );
    expect(await jobOf(added.at(-1)!.callId)).not.toHaveProperty('arguments');
    for (const job of added) expect(JSON.stringify(job).length).toBeLessThan(2 * maxCarriedArgumentsBytes);
  } finally {
    queue.add = add;
  }
});

verifies('tools.large-arguments-by-journal', 'claimed by this worker, which got no answer to that', async () => {
  for (const name of ['echo', 'append']) {
    const { id } = await planned(name, largeText);
    await path.services.journal.claim({ callId: id, worker: path.worker.id });
    await path.worker.worker.jobs.handle({ job: await jobOf(id), redelivered: false });
    expect(await journaled(id)).toEqual(['completed', 1]);
  }
  expect(path.worker.probe.effects.at(-1)).toBe(largeText);
});

verifies('tools.safe-run-once', 'its job is added again after its end', async () => {
  const { id } = await call('echo', 'once');
  const echoes = path.worker.probe.echoes;
  await path.worker.worker.jobs.handle({ job: await jobOf(id), redelivered: false, repeated: true });
  expect(path.worker.probe.echoes).toBe(echoes);
  expect(await journaled(id)).toEqual(['completed', 1]);
});

verifies('tools.cancelled-not-started', 'its worker has heard of it, or has not and the call waited', async () => {
  const { id: gone } = await planned('echo');
  await path.services.journal.cancelPlanned([gone], { requestId: 'req_1' });
  const { id: heard } = await planned('echo');
  path.worker.worker.running.cancel([heard], 'cancelled');
  const echoes = path.worker.probe.echoes;
  for (const [id, waitedMs] of [
    [gone, 2_000],
    [heard, 0],
  ] as const) {
    const job = { ...(await jobOf(id)), queuedAt: Date.now() - waitedMs };
    await path.worker.worker.jobs.handle({ job, redelivered: false });
    expect(await journaled(id)).toEqual(['cancelled', 1]);
  }
  expect(path.worker.probe.echoes).toBe(echoes);
});

verifies('sessions.made-with-the-call', 'its worker is told at once, or late', async () => {
  /** Where a call whose session is elsewhere leaves its whole result. */
  const keptIn = async (queuedMsAgo: number): Promise<string[]> => {
    const sessionId = `made-${queuedMsAgo}`;
    const request = {
      name: 'large',
      argumentsText: JSON.stringify({ bytes: path.services.config.tools.max_result_bytes + 1 }),
      sessionId,
    };
    const { context } = await path.gateway.calls.prepare(request, requestContext());
    const [made] = await path.services.rows<{ directory: string }>('select directory from sessions where id = $1', [
      sessionId,
    ]);
    const job = { ...(await jobOf(context.callId)), sessionDirectory: `told-${sessionId}` };
    await path.worker.worker.jobs.handle({ job: { ...job, queuedAt: Date.now() - queuedMsAgo }, redelivered: false });
    const directories = [job.sessionDirectory, made!.directory];
    const results = (name: string) =>
      join(path.services.config.data_dir, 'workspaces', name, '.results', `${context.callId}.txt`);
    const isThere = (name: string) =>
      readFile(results(name)).then(
        () => true,
        () => false,
      );
    const found = await Promise.all(directories.map(isThere));
    return ['told', 'own'].filter((_name, index) => found[index]);
  };
  expect(await keptIn(0)).toEqual(['told']);
  expect(await keptIn(10_000)).toEqual(['own']);
});
