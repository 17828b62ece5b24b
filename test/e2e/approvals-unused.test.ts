// An approved call of a turn finds no worker: what the person decided counts for the next call like it.
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { startAskingSignalbox, user, write } from '../support/approvals-client.js';
import { turnEvents } from '../support/events-client.js';
import { rounds } from '../support/scripts.js';
import type { Script } from '../support/scripted-upstream.js';
import type { StartedHere } from '../support/services/start-here.js';
import { startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

let asking: Awaited<ReturnType<typeof startAskingSignalbox<StartedHere>>>;
beforeAll(async () => {
  asking = await startAskingSignalbox(startSignalboxHere, { environment: { TOOLS_WORKER_WAIT_MS: '300' } });
}, 60_000);
afterAll(() => asking?.close());

type Scripted = Exclude<Script, unknown[]>;
const scripted = (...answers: Parameters<typeof rounds>) => rounds(...answers) as Scripted;
const callIds = ['call_0', 'call_1', 'call_2'];

verifies('approvals.unused', 'no worker at first; a third call like it is asked about again', async () => {
  const { box } = asking;
  let workerStarted!: () => void;
  const hasWorker = new Promise<void>((resolve) => (workerStarted = resolve));
  const answers = scripted(...callIds.map((id) => ({ toolCalls: [{ ...write('unused.txt'), id }] })), { text: 'done' });
  asking.follow(async (request, number) => {
    if (number > 1) await hasWorker;
    return answers(request, number);
  });
  const asked: string[] = [];
  const results: unknown[] = [];
  const refusals: unknown[] = [];
  for await (const chunk of turnEvents(box.url, { messages: [user('Write')], session_id: 'unused' })) {
    if (chunk['type'] === 'approval_required') {
      const { id } = chunk['approval'] as { id: string };
      asked.push(id);
      if (asked.length === 1) await box.workers[0]!.stop();
      await asking.decide(id, { decision: asked.length === 1 ? 'approve' : 'deny' });
    }
    if (chunk['type'] !== 'tool_result') continue;
    const { error } = chunk['result'] as { error?: JsonObject };
    results.push(error?.['code'] ?? 'written');
    if (error !== undefined) refusals.push(error['message']);
    if (results.length > 1) continue;
    await box.startWorker();
    workerStarted();
  }
  expect(results).toEqual(['tool_unavailable', 'written', 'approval_denied']);
  expect(refusals[0]).toMatch(/^The call did not begin: /);
  expect(asked).toHaveLength(2);
  expect(await asking.fileOf('unused', 'unused.txt')).toBe('one');
  const audited = await box.rows<JsonObject>(
    `select state, approval_id as id, approver from audit_events where kind = 'tool_call' and session_id = 'unused' order by at`,
  );
  expect(audited).toMatchObject([
    { state: 'cancelled', id: asked[0], approver: 'local' },
    { state: 'completed', id: asked[0], approver: 'local' },
    { state: 'denied', id: asked[1], approver: 'local' },
  ]);
});
