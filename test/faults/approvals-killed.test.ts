// The gateway of detached turns that wait for approvals is killed. Whatever order its death, the decision, the expiry and the
// reaping come in, each call runs once or its model gets the reason, and each run ends.
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { type StartedProcess } from '../support/services/start-process.js';
import { type Signalbox, toolsReady } from '../support/services/start-signalbox.js';
import { startSignalbox } from '../support/services/start-signalbox.js';
import { answerTo, decideAt, startAskingSignalbox, user, write, writing } from '../support/approvals-client.js';
import { turnEvents } from '../support/events-client.js';
import { post, workspaceTools } from '../support/scripts.js';
import { verifies } from '../verifies.js';

const patient = { timeout: 60_000, interval: 100 };
const messages = [user('Write')];
let asking: Awaited<ReturnType<typeof startAskingSignalbox<StartedProcess>>>;
let box: Signalbox;

beforeAll(async () => {
  // What a slow machine does to the store is not what is tested here.
  asking = await startAskingSignalbox(startSignalbox, { environment: { DATABASE_TIMEOUT_MS: '10000' } });
  ({ box } = asking);
  asking.follow(writing('file.txt'));
});
afterAll(() => asking?.close());

interface Held {
  session: string;
  approvalId: string;
}

/** Begins a turn on this gateway, and reads until it waits. Its stream breaks with the gateway. */
async function held(gateway: StartedProcess, session: string, body: object = {}): Promise<Held> {
  const request = { messages, session_id: session, on_disconnect: 'detach', ...body };
  const events = turnEvents(gateway.url, request);
  for (let last: JsonObject = {}; ;) {
    const { value } = await events.next();
    if (value === undefined) throw new Error(`the turn ended before it waited: ${JSON.stringify(last)}`);
    last = value;
    if (value['type'] === 'approval_required') {
      void events.next().catch(() => undefined);
      return { session, approvalId: (value['approval'] as JsonObject)['id'] as string };
    }
  }
}

const slug = (text: string) => text.replace(/\W+/g, '_');

const runOf = async (session: string) =>
  (
    await box.rows<{ state: string; reported: string }>(
      'select state, answer::text as reported from runs where session_id = $1',
      [session],
    )
  )[0]!;
const stateOf = async (session: string) => (await runOf(session)).state;
const interrupted = ({ session }: Held) => expect.poll(() => stateOf(session), patient).toBe('interrupted');
const expire = ({ approvalId }: Held) =>
  box.rows('update approvals set expires_at = clock_timestamp() where id = $1', [approvalId]);

async function approve({ approvalId }: Held, more: object = {}): Promise<void> {
  expect((await asking.decide(approvalId, { decision: 'approve', ...more })).status).toBe(200);
}
async function deny({ approvalId }: Held): Promise<void> {
  expect((await asking.decide(approvalId, { decision: 'deny', reason: 'Not today' })).status).toBe(200);
}

/** What happens after the death, and what then is in the file and in the answer of the model. */
const orders = {
  approved: { happens: (turn: Held) => approve(turn), file: 'one', reported: 'Result: ' },
  edited: {
    happens: (turn: Held) => approve(turn, { arguments: write('file.txt', 'two').arguments }),
    file: 'two',
    reported: 'Result: ',
  },
  denied: { happens: deny, file: undefined, reported: 'Not today' },
  expired: { happens: expire, file: undefined, reported: 'Nobody approved' },
  'interrupted, approved': {
    happens: (turn: Held) => interrupted(turn).then(() => approve(turn)),
    file: 'one',
    reported: 'Result: ',
  },
  'interrupted, denied': {
    happens: (turn: Held) => interrupted(turn).then(() => deny(turn)),
    file: undefined,
    reported: 'Not today',
  },
  'interrupted, expired': {
    happens: (turn: Held) => interrupted(turn).then(() => expire(turn)),
    file: undefined,
    reported: 'Nobody approved',
  },
} as const;

async function ended(turn: Held, { file, reported }: { file: string | undefined; reported: string }): Promise<void> {
  await expect.poll(() => stateOf(turn.session), patient).toBe('done');
  expect(await asking.fileOf(turn.session, 'file.txt')).toBe(file);
  expect((await runOf(turn.session)).reported).toContain(reported);
  const rows = await box.rows<{ state: string }>(
    `select audit.state from tool_calls call join audit_events audit on audit.call_id = call.id and audit.kind = 'tool_call'
     where call.session_id = $1 and call.state = audit.state`,
    [turn.session],
  );
  expect(rows).toHaveLength(1);
}

for (const survivor of ['another gateway', 'the next gateway'] as const) {
  verifies('approvals.alone', `${Object.keys(orders).join('; ')}: ${survivor} goes on`, async () => {
    const doomed = await box.startGateway();
    await toolsReady(doomed.url);
    const names = Object.keys(orders) as (keyof typeof orders)[];
    const turns: Held[] = [];
    for (const name of names) turns.push(await held(doomed, slug(`${survivor} ${name}`)));
    const early = await held(doomed, slug(`${survivor} approved killed`));
    const decided = decideAt(doomed.url, early.approvalId, { decision: 'approve' });
    expect((await decided).status).toBe(200);
    const old = survivor === 'the next gateway' ? box.gateways.splice(0) : [doomed];
    for (const gateway of old) gateway.kill('SIGKILL');
    await Promise.all(old.map((gateway) => gateway.ended));
    if (survivor === 'the next gateway') await box.startGateway();
    else box.gateways.pop();
    await Promise.all([
      ...names.map(async (name, index) => {
        await orders[name].happens(turns[index]!);
        await ended(turns[index]!, orders[name]);
      }),
      ended(early, orders.approved),
    ]);
    for (const { approvalId } of turns) {
      expect((await asking.decide(approvalId, { decision: 'approve' })).status).toBe(409);
    }
  });
}

verifies('approvals.doomed', 'its caller has gone with its gateway; its key was revoked', async () => {
  const doomed = await box.startGateway();
  await toolsReady(doomed.url);
  const turns = await Promise.all([
    held(doomed, 'not_detached', { on_disconnect: 'cancel' }),
    held(doomed, 'without_key'),
  ]);
  doomed.kill('SIGKILL');
  await doomed.ended;
  box.gateways.pop();
  await box.rows("update runs set key_id = 'key_revoked' where session_id = 'without_key'");
  for (const turn of turns) {
    const state = async () => (await asking.approval(turn.approvalId)).state;
    await expect.poll(state, patient).toBe('cancelled');
    const late = await asking.decide(turn.approvalId, { decision: 'approve' });
    expect([late.status, late.body.error?.code]).toEqual([409, 'approval_already_decided']);
    expect(await asking.fileOf(turn.session, 'file.txt')).toBeUndefined();
  }
  expect(await Promise.all(turns.map(({ session }) => stateOf(session)))).toEqual(['interrupted', 'failed']);
});

verifies('approvals.alone', 'a turn that was about to give its request to the caller', async () => {
  const doomed = await box.startGateway({ SIGNALBOX_FAULTS: 'before-end' });
  await toolsReady(doomed.url);
  const request = { messages, tools: [workspaceTools], session_id: 'returned' };
  await expect(post(doomed.url, '/v1/chat/completions', { ...request, on_disconnect: 'detach' })).rejects.toThrow();
  box.gateways.pop();
  await expect.poll(() => stateOf('returned'), patient).toBe('done');
  const { reported } = await runOf('returned');
  const { toolCalls } = JSON.parse(reported) as { toolCalls: { id: string; function: { name: string } }[] };
  expect(toolCalls.map((call) => call.function.name)).toEqual(['approval_request']);
  const message = { role: 'assistant', content: null, tool_calls: toolCalls };
  const answer = answerTo(toolCalls[0]!.id, { decision: 'approve' });
  const { body } = await post(asking.url(), '/v1/chat/completions', {
    ...request,
    messages: [...messages, message, answer],
  });
  expect(body.choices[0]).toMatchObject({ finish_reason: 'stop' });
  expect(await asking.fileOf('returned', 'file.txt')).toBe('one');
});

verifies('approvals.tools-api', 'its gateway is killed while it waits, and it is approved at once', async () => {
  const doomed = await box.startGateway();
  await toolsReady(doomed.url);
  const call = (url: string, session: string, headers: Record<string, string>) =>
    post(
      url,
      '/api/tools/call',
      { name: 'write_file', arguments: write('file.txt').arguments, session_id: session },
      headers,
    );
  const callers: { session: string; headers: Record<string, string> }[] = [
    { session: 'keyed', headers: { 'idempotency-key': 'killed' } },
    { session: 'unkeyed', headers: {} },
  ];
  const asked = await Promise.all(callers.map(({ session, headers }) => call(doomed.url, session, headers)));
  expect(asked.map(({ status }) => status)).toEqual([202, 202]);
  doomed.kill('SIGKILL');
  await doomed.ended;
  box.gateways.pop();
  for (const { body } of asked) {
    const { id } = (body as unknown as { approval: { id: string } }).approval;
    expect((await asking.decide(id, { decision: 'approve' })).status).toBe(200);
  }
  for (const { session, headers } of callers) {
    expect((await call(asking.url(), session, headers)).status).toBe(200);
    expect(await asking.fileOf(session, 'file.txt')).toBe('one');
  }
});
