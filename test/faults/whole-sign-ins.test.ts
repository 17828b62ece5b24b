// Processes die, and issuers fail, at every step of a whole sign-in.
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { eventsOf } from '../support/events-client.js';
import type { StartedProcess } from '../support/services/start-process.js';
import { startWholeSignIns, type WholeSignIns } from '../support/whole-sign-ins.js';
import { verifies } from '../verifies.js';

const lives = { timeout: 60_000, interval: 200 };
let here: WholeSignIns;
beforeAll(async () => {
  here = await startWholeSignIns((url) => ({ hub: { url, auth: { kind: 'oauth' } } }));
  await here.offered('ada', 'whoami');
}, 120_000);
afterAll(() => here?.close());
beforeEach(async () => {
  here.issuer.faults = {};
  await here.ask('ada', 'DELETE', '/api/connections/hub');
});

async function kill(process: StartedProcess): Promise<void> {
  process.kill('SIGKILL');
  await process.ended;
}
/** A gateway that is not among those that the rest of the test uses. */
async function another(environment: Record<string, string> = {}): Promise<StartedProcess> {
  const gateway = await here.startGateway(environment);
  here.box.gateways.pop();
  return gateway;
}

/** Begins a detached turn, and returns the address that its call asks for. */
async function held(url: string, session_id: string): Promise<string> {
  const body = {
    stream: true,
    messages: [{ role: 'user', content: 'Call whoami' }],
    tools: [{ type: 'mcp', server_label: 'hub' }],
    session_id,
    on_disconnect: 'detach',
  };
  const events = eventsOf(url, '/api/chat/completions', body, { headers: here.headersOf('ada') });
  for (;;) {
    const { value } = await events.next();
    if (value === undefined) throw new Error('the turn ended before it waited');
    if (value['type'] !== 'sign_in_required') continue;
    void events.next().catch(() => undefined);
    return (value['sign_in'] as JsonObject)['authorization_url'] as string;
  }
}
const runOf = async (session: string) =>
  (
    await here.box.rows<{ state: string; answer: string }>(
      'select state, answer::text from runs where session_id = $1',
      [session],
    )
  )[0]!;
async function answered(session: string): Promise<void> {
  await expect.poll(async () => (await runOf(session)).state, lives).toBe('done');
  expect((await runOf(session)).answer).toContain('It says: ada');
  const rows = await here.box.rows('select state from tool_calls where session_id = $1', [session]);
  expect(rows).toEqual([{ state: 'completed' }]);
}
const stateOf = async () =>
  ((await here.ask('ada', 'GET', '/api/connections')).body['data'] as JsonObject[])[0]!['state'];

for (const [point, state] of [
  ['before-connect', 'needed'],
  ['after-connect', 'connected'],
] as const) {
  verifies(
    'sign-ins.killed',
    `the gateway of the callback, ${point}`,
    async () => {
      const doomed = await another({ SIGNALBOX_FAULTS: point });
      const address = await held(here.box.url, point);
      await expect(here.signIn('ada', address, doomed.url)).rejects.toThrow();
      expect((await doomed.ended).signal).toBe('SIGKILL');
      expect(await stateOf()).toBe(state);
      // The code is used up, but the address that the caller was given is as good as before.
      if (state === 'needed') expect((await here.signIn('ada', address)).status).toBe(200);
      await answered(point);
    },
    120_000,
  );
}

verifies(
  'sign-ins.killed',
  'gateway and worker, between the question and the sign-in',
  async () => {
    const doomed = await another();
    const address = await held(doomed.url, 'both');
    await Promise.all([...here.box.workers.splice(0), doomed].map(kill));
    await here.box.startWorker();
    expect((await here.signIn('ada', address)).status).toBe(200);
    await answered('both');
  },
  120_000,
);

verifies(
  'sign-ins.killed',
  'the worker, before it has parked the call',
  async () => {
    await Promise.all(here.box.workers.splice(0).map(kill));
    const doomed = await here.box.startWorker({ SIGNALBOX_FAULTS: 'before-park' });
    here.box.workers.pop();
    const before = here.issuer.calls.length;
    const called = here.ask('ada', 'POST', '/api/tools/call', { name: 'whoami', session_id: 'worker' });
    expect((await doomed.ended).signal).toBe('SIGKILL');
    await here.box.startWorker();
    // It was claimed, and only its worker knew that the tool had not begun.
    expect(await called).toMatchObject({ status: 422, body: { error: { code: 'tool_outcome_unknown' } } });
    const again = await here.ask('ada', 'POST', '/api/tools/call', { name: 'whoami', session_id: 'worker' });
    expect(again).toMatchObject({ status: 202, body: { sign_in: { server: 'hub' } } });
    expect(here.issuer.calls).toHaveLength(before);
  },
  120_000,
);

verifies(
  'sign-ins.killed',
  'an issuer that fails, is slow, or answers as another: the call waits on',
  async () => {
    const address = await held(here.box.url, 'issuer');
    const failures: [WholeSignIns['issuer']['faults'], number][] = [
      [{ tokenError: { status: 503, body: '' } }, 502],
      [{ tokenError: { status: 400, body: '{"error":"invalid_grant"}' } }, 502],
      [{ iss: 'https://other.example' }, 400],
      [{ refusal: 'access_denied' }, 400],
      [{ slowMs: 15_000 }, 502],
    ];
    for (const [faults, status] of failures) {
      here.issuer.faults = faults;
      expect([faults, (await here.signIn('ada', address)).status]).toEqual([faults, status]);
      expect(await stateOf()).toBe('needed');
    }
    here.issuer.faults = {};
    const { browser, back } = await here.goToIssuer('ada', address);
    // A callback that somebody else brings is not used up by looking at it; one that was used does nothing.
    expect(await (await fetch(back)).text()).toContain('another browser');
    expect((await browser.get(back.href)).status).toBe(200);
    expect((await browser.get(back.href)).status).toBe(404);
    await answered('issuer');
  },
  120_000,
);
