// Approvals survive restarts and long waits: no part of a question or its answer is only in a process.
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { type Signalbox, toolsReady } from '../support/services/start-signalbox.js';
import { startSignalbox } from '../support/services/start-signalbox.js';
import type { StartedProcess } from '../support/services/start-process.js';
import { answerTo, startAskingSignalbox, user, write, writing } from '../support/approvals-client.js';
import { turnEvents } from '../support/events-client.js';
import { post, workspaceTools } from '../support/scripts.js';
import { verifies } from '../verifies.js';

const patient = { timeout: 30_000, interval: 100 };
let asking: Awaited<ReturnType<typeof startAskingSignalbox<StartedProcess>>>;
let box: Signalbox;

beforeAll(async () => {
  asking = await startAskingSignalbox(startSignalbox, { environment: { SERVER_SHUTDOWN_GRACE_MS: '500' } });
  ({ box } = asking);
}, 60_000);
afterAll(() => asking?.close());

const url = () => asking.url();
const messages = [user('Write')];

/** Kills all processes at once and starts new ones. */
async function restart(environment: Record<string, string> = {}, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  const old = [...box.gateways, ...box.workers];
  for (const each of old) each.kill(signal);
  await Promise.all(old.map((each) => each.ended));
  await box.startWorker(environment);
  await box.startGateway(environment);
  await toolsReady(url());
}

verifies('approvals.restarts', 'asked before, approved after', async () => {
  asking.follow(writing('a.txt'));
  const request = { tools: [workspaceTools], session_id: 'returned' };
  const { body } = await post(url(), '/v1/chat/completions', { ...request, messages });
  const { message } = body.choices[0]!;
  await restart();
  const answer = answerTo(message.tool_calls![0]!.id, { decision: 'approve' });
  const second = await post(url(), '/v1/chat/completions', { ...request, messages: [...messages, message, answer] });
  expect(second.body.choices[0]).toMatchObject({ finish_reason: 'stop' });
  expect(await asking.fileOf('returned', 'a.txt')).toBe('one');
});

verifies('approvals.restarts', 'a tools API call, approved before, asked for again after', async () => {
  const call = () =>
    post(
      url(),
      '/api/tools/call',
      { name: 'write_file', arguments: write('t.txt').arguments, session_id: 'tools' },
      { 'idempotency-key': 'restart' },
    );
  const first = (await call()).body as unknown as { approval: { id: string } };
  expect((await asking.decide(first.approval.id, { decision: 'approve' })).status).toBe(200);
  await restart();
  expect((await call()).status).toBe(200);
  expect((await call()).status).toBe(200);
  expect(await asking.fileOf('tools', 't.txt')).toBe('one');
});

const approvalIdIn = (chunk: JsonObject): string => (chunk['approval'] as { id: string }).id;

/** Reads until the turn waits for an approval, then until its gateway dies. */
async function held(session: string, headers: Record<string, string>, body: object = {}): Promise<string> {
  let id = '';
  try {
    for await (const chunk of turnEvents(url(), { messages, session_id: session, ...body }, { headers })) {
      if (chunk['type'] !== 'approval_required') continue;
      id = approvalIdIn(chunk);
      break;
    }
  } catch (error) {
    if (id === '') throw error;
  }
  return id;
}

verifies('approvals.restarts', 'a held stream with a key: it waits again, and goes on', async () => {
  asking.follow(writing('h.txt'));
  const headers = { 'idempotency-key': 'held' };
  const body = { messages, session_id: 'held' };
  let id = '';
  const reading = (async () => {
    for await (const chunk of turnEvents(url(), body, { headers })) {
      if (chunk['type'] === 'approval_required') id = approvalIdIn(chunk);
    }
  })().catch(() => undefined);
  await expect.poll(() => id, patient).not.toBe('');
  await restart();
  await reading;
  const types: unknown[] = [];
  let decided = false;
  await expect
    .poll(async () => {
      // The store still considers the old gateway alive, so that no events arrive until it is given up.
      for await (const chunk of turnEvents(url(), body, { headers })) {
        types.push(chunk['type']);
        if (chunk['type'] !== 'approval_required' || decided) continue;
        decided = true;
        expect(approvalIdIn(chunk)).toBe(id);
        expect((await asking.decide(id, { decision: 'approve' })).status).toBe(200);
      }
      return types.at(-1);
    }, patient)
    .toBe('done');
  expect(await asking.fileOf('held', 'h.txt')).toBe('one');
});

verifies('approvals.alone', 'decided on another gateway than the one that was stopped', async () => {
  asking.follow(writing('d.txt'));
  const session = 'alone';
  const id = await held(session, {}, { on_disconnect: 'detach' });
  await restart({}, 'SIGTERM');
  expect((await asking.decide(id, { decision: 'approve' })).status).toBe(200);
  const run = () => box.rows<{ state: string }>('select state from runs where session_id = $1', [session]);
  await expect.poll(run, patient).toEqual([{ state: 'done' }]);
  expect(await asking.fileOf(session, 'd.txt')).toBe('one');
});

verifies('approvals.expired', 'held, and returned', async () => {
  await restart({ APPROVALS_EXPIRES_MS: '1500' });
  asking.follow(writing('e.txt'));
  const events: JsonObject[] = [];
  for await (const chunk of turnEvents(url(), { messages, session_id: 'expired' })) events.push(chunk);
  expect(events.find((chunk) => chunk['type'] === 'tool_result')).toMatchObject({
    result: { success: false, error: { code: 'approval_expired' } },
  });
  expect(events.at(-1)).toMatchObject({ type: 'done', finish_reason: 'stop' });

  const request = { tools: [workspaceTools], session_id: 'expired' };
  const { body } = await post(url(), '/v1/chat/completions', { ...request, messages });
  const { message } = body.choices[0]!;
  const [asked] = message.tool_calls!;
  const { id } = JSON.parse(asked!.function.arguments) as { id: string };
  await expect.poll(() => asking.approval(id).then(({ state }) => state), patient).toBe('expired');
  expect((await asking.decide(id, { decision: 'approve' })).status).toBe(409);
  const answer = answerTo(asked!.id, { decision: 'approve' });
  const late = await post(url(), '/v1/chat/completions', { ...request, messages: [...messages, message, answer] });
  expect(late.body.choices[0]!.message.content).toContain("Nobody approved the call of 'write_file' in time. The rule");
  expect(await asking.fileOf('expired', 'e.txt')).toBeUndefined();
});
