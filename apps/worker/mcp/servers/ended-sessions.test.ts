// Processes of a deleted session end, and so do starts without a waiting call. With real processes.
import { existsSync } from 'node:fs';
import { afterEach, beforeEach, expect } from 'vitest';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { isAlive } from '#libs/process/process-identity.js';
import { hostile, openToolServers, type ToolServers } from '../../../../test/support/tool-servers.js';
import { verifies } from '../../../../test/verifies.js';
import { countToolProcesses } from '../../sandbox/tool-process.js';

let servers: ToolServers;

const open = async (given: Parameters<typeof openToolServers>[1] = {}) => {
  await servers?.close();
  servers = await openToolServers(
    {
      bad: { ...hostile(), standbys: 1 },
      deaf: hostile('--ignore-term'),
      slow: hostile('--silent'),
      brief: { ...hostile(), idle_ttl_ms: 100 },
    },
    given,
  );
};
beforeEach(() => open());
afterEach(async () => {
  await servers.close();
  expect(await countToolProcesses()).toBe(0);
});

const soon = <T>(look: () => T) => expect.poll(look, { timeout: 15_000 });
const gone = { code: 'tool_unavailable', message: 'The session was deleted' };
const states = () =>
  Object.fromEntries(
    servers.pool
      .census()
      .filter(({ count }) => count > 0)
      .map(({ server, state, count }) => [`${server} ${state}`, count]),
  );

verifies(
  'sessions.deleted-ends-servers',
  'idle and busy ones with their grandchildren, no other session’s',
  async () => {
    const pids = async (server: string) => {
      const { content } = await servers.call(server, 'family');
      return (content as { text: string }[])[0]!.text.split(' ').map(Number);
    };
    const family = [...(await pids('deaf')), ...(await pids('bad'))];
    await servers.call('deaf', 'echo', { session: 'sess_b' });
    const running = servers.call('deaf', 'hang');
    const ended = expect(running).rejects.toMatchObject({ name: 'AppError' });
    await soon(states).toMatchObject({ 'deaf busy': 1, 'deaf idle': 1, 'bad idle': 1 });
    await servers.pool.endIn('ws_sess_a');
    expect(family.map(isAlive)).toEqual([false, false, false, false]);
    await ended;
    await soon(states).toEqual({ 'deaf idle': 1, 'bad standby': 1 });
    // A call that arrives late.
    await servers.workspaces.remove('ws_sess_a');
    await expect(servers.call('deaf', 'echo')).rejects.toMatchObject(gone);
    expect(existsSync(servers.workspaces.hostPath('ws_sess_a'))).toBe(false);
    await servers.call('deaf', 'echo', { session: 'sess_b' });
    expect(servers.log.map(({ fields }) => fields.metadata?.['reason'])).toContain('its session was deleted');
  },
);

verifies(
  'sessions.deleted-ends-servers',
  'those that are starting, and those that wait for their turn to',
  async () => {
    await open({ starts: { limit: 1, holdMs: 60_000 } });
    const refused = (server: string) =>
      expect(servers.call(server, 'echo')).rejects.toMatchObject({ code: 'tool_unavailable' });
    const slow = refused('slow');
    await soon(countToolProcesses).toBe(1);
    const deaf = refused('deaf');
    await soon(states).toEqual({ 'slow connecting': 1, 'deaf waiting': 1 });
    await servers.pool.endIn('ws_sess_a');
    expect(await countToolProcesses()).toBe(0);
    await Promise.all([slow, deaf]);
    expect(states()).toEqual({});
    // It does not count as a failure of the servers.
    expect(servers.log.map(({ message }) => message)).not.toContain('a tool server could not be connected');
    await servers.call('deaf', 'echo', { session: 'sess_b' });
  },
);

verifies('sessions.deleted-ends-servers', 'a standby that the session has taken and not used', async () => {
  servers.pool.warm();
  await soon(states).toEqual({ 'bad standby': 1 });
  const taken = await servers.pool.offerStandby('bad', async (directory) => ({ directory: directory! }));
  expect(states()).toEqual({ 'bad standby': 1 });
  await servers.pool.endIn(taken.directory);
  expect(await countToolProcesses()).toBe(0);
  // Its owner removes the directory.
  expect(existsSync(servers.workspaces.hostPath(taken.directory))).toBe(true);
});

const wait = (given: { signal?: AbortSignal; ms: number; session?: string }) => {
  const { signal = new AbortController().signal, ms, session = 'sess_a' } = given;
  const user = { principal: 'local', sessionId: session, directory: `ws_${session}` };
  return servers.pool.use('slow', { user, signal, deadline: steadyNow() + ms }, async () => undefined);
};
const failures = () => servers.log.filter(({ message }) => message === 'a tool server could not be connected').length;

verifies('tools.unwanted-start-ends', 'the last call that waited for it was cancelled', async () => {
  const stops = [new AbortController(), new AbortController()];
  const waiting = stops.map(({ signal }) => wait({ signal, ms: 60_000 }));
  const refused = Promise.all(waiting.map((each) => expect(each).rejects.toThrow('cancelled')));
  await soon(countToolProcesses).toBe(1);
  stops[0]!.abort(new Error('cancelled'));
  const other = wait({ signal: stops[1]!.signal, ms: 60_000 });
  const otherRefused = expect(other).rejects.toThrow('cancelled');
  stops[1]!.abort(new Error('cancelled'));
  await Promise.all([refused, otherRefused]);
  expect(states()).toEqual({ 'slow connecting': 1 });
  await soon(states).toEqual({});
  expect(await countToolProcesses()).toBe(0);
  expect(failures()).toBe(0);
});

verifies(
  'tools.unwanted-start-ends',
  'the time of the last call is over, which counts as a failure to start',
  async () => {
    const signal = AbortSignal.timeout(300);
    await expect(wait({ signal, ms: 300 })).rejects.toThrow();
    await soon(countToolProcesses).toBe(0);
    await soon(failures).toBe(1);
  },
);

verifies(
  'tools.unwanted-start-ends',
  'a start that succeeds when its call has gone has the time of an idle one',
  async () => {
    const stop = new AbortController();
    const user = { principal: 'local', sessionId: 'sess_a', directory: 'ws_sess_a' };
    const options = { user, signal: stop.signal, deadline: steadyNow() + 60_000 };
    const waiting = servers.pool.use('brief', options, async () => undefined);
    stop.abort(new Error('cancelled'));
    await expect(waiting).rejects.toThrow('cancelled');
    const closed = () => servers.log.filter(({ message }) => message === 'tool server closed');
    await soon(closed).toMatchObject([{ fields: { metadata: { reason: 'idle' } } }]);
  },
);
