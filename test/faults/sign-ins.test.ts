// Gateways and workers die between a tool server's demand for a sign-in and the sign-in.
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { eventsOf } from '../support/events-client.js';
import { startSignalbox, toolsReady } from '../support/services/start-signalbox.js';
import type { StartedProcess } from '../support/services/start-process.js';
import { hubTools as tools, type SigningIn, startSigningIn, user } from '../support/signing-in.js';
import { offeredTools } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

const lives = { timeout: 60_000, interval: 200 };
let here: SigningIn<StartedProcess>;
beforeAll(async () => {
  here = await startSigningIn(startSignalbox);
}, 90_000);
afterAll(() => here?.close());

async function another(): Promise<StartedProcess> {
  const gateway = await here.box.startGateway();
  here.box.gateways.pop();
  await toolsReady(gateway.url);
  await expect.poll(async () => (await offeredTools(gateway.url)).has('push'), lives).toBe(true);
  return gateway;
}

async function kill(process: StartedProcess): Promise<void> {
  process.kill('SIGKILL');
  await process.ended;
}

/** Begins a detached turn on this gateway, and reads until its call waits. Its stream breaks with the gateway. */
async function held(gateway: StartedProcess, session_id: string): Promise<string> {
  const body = { stream: true, messages: [user('Go')], tools, session_id, on_disconnect: 'detach' };
  const events = eventsOf(gateway.url, '/api/chat/completions', body);
  for (;;) {
    const { value } = await events.next();
    if (value === undefined) throw new Error('the turn ended before it waited');
    if (value['type'] !== 'sign_in_required') continue;
    void events.next().catch(() => undefined);
    return (value['sign_in'] as JsonObject)['id'] as string;
  }
}

const call = async (url: string, session_id: string) => {
  const headers = { 'content-type': 'application/json', 'idempotency-key': session_id };
  const body = JSON.stringify({ name: 'push', arguments: { word: 'push0' }, session_id });
  const response = await fetch(`${url}/api/tools/call`, { method: 'POST', headers, body });
  return { status: response.status, body: (await response.json()) as JsonObject };
};

const runOf = async (session: string) =>
  (
    await here.box.rows<{ state: string; answer: string }>(
      'select state, answer::text from runs where session_id = $1',
      [session],
    )
  )[0]!;

/** The call ran once, and has one row of the audit. */
async function ranOnce(session: string): Promise<void> {
  await expect.poll(async () => (await runOf(session)).state, lives).toBe('done');
  expect(await here.ranIn(session)).toEqual(['push0']);
  const sql = `select kind, state from audit_events where session_id = $1 order by kind`;
  expect(await here.box.rows(sql, [session])).toEqual([
    { kind: 'sign_in', state: 'approved' },
    { kind: 'tool_call', state: 'completed' },
  ]);
}

for (const tool of ['push', 'pull']) {
  verifies(
    'sign-ins.alone',
    `a detached turn, its gateway killed: ${tool}`,
    async () => {
      here.called.tools = [tool];
      const doomed = await another();
      await held(doomed, `detached_${tool}`);
      await kill(doomed);
      await here.signIn(`detached_${tool}`);
      await expect.poll(async () => (await runOf(`detached_${tool}`)).state, lives).toBe('done');
      expect(await here.ranIn(`detached_${tool}`)).toEqual([`${tool}0`]);
      expect((await runOf(`detached_${tool}`)).answer).toContain(`said ${tool}0`);
    },
    120_000,
  );
}

verifies(
  'sign-ins.alone',
  'a call with a key, its gateway killed: it runs whether its caller comes back or not',
  async () => {
    const doomed = await another();
    for (const session of ['keyed_left', 'keyed_back']) expect((await call(doomed.url, session)).status).toBe(202);
    await kill(doomed);
    for (const session of ['keyed_left', 'keyed_back']) await here.signIn(session);
    await expect.poll(async () => (await call(here.box.url, 'keyed_back')).status, lives).toBe(200);
    for (const session of ['keyed_left', 'keyed_back']) await ranOnce(session);
  },
  120_000,
);

verifies(
  'sign-ins.alone',
  'every worker killed: the turn that stays goes on with another',
  async () => {
    here.called.tools = ['push'];
    const id = await held(here.box.gateways[0]!, 'workers');
    await Promise.all(here.box.workers.splice(0).map(kill));
    expect(await here.wait(id)).toMatchObject({ state: 'waiting' });
    await here.box.startWorker();
    await here.signIn('workers');
    await ranOnce('workers');
  },
  120_000,
);

verifies(
  'sign-ins.alone',
  'both killed, and nobody signs in',
  async () => {
    here.called.tools = ['push'];
    const doomed = await another();
    const id = await held(doomed, 'nobody');
    await Promise.all([...here.box.workers.splice(0), doomed].map(kill));
    await here.box.startWorker();
    await here.box.rows('update approvals set expires_at = clock_timestamp() where id = $1', [id]);
    await expect.poll(async () => (await runOf('nobody')).state, lives).toBe('done');
    expect((await runOf('nobody')).answer).toContain('Nobody signed in');
    expect(await here.ranIn('nobody')).toEqual([]);
  },
  120_000,
);
