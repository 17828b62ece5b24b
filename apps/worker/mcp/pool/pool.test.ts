import { expect, test, vi } from 'vitest';
import { FairSlots } from '#libs/concurrency/fair-slots.js';
import { silentLogger } from '#libs/logging/logger.js';
import { createMcpServer } from '#libs/mcp-server/create-mcp-server.js';
import type { ToolServer } from '#libs/mcp-server/tool-server.js';
import { verifies } from '../../../../test/verifies.js';
import { configuredServer } from '../../../../test/support/configured-server.js';
import { ProbeTools } from '../../../../test/support/probe-tools.js';
import type { ToolConnection } from '../servers/connection.js';
import { InProcessConnection } from '../servers/in-process-connection.js';
import type { PoolEvents } from './pool-events.js';
import type { UseOptions } from './pool-instance.js';
import { ServerPool } from './pool.js';
import type { ConfiguredServer } from '../servers/configured-server.js';

const use = (principal = 'local', sessionId = 's'): UseOptions => ({
  user: { principal, sessionId, directory: sessionId },
  signal: new AbortController().signal,
  deadline: Date.now() + 5_000,
});

function setUp(given: Partial<ConfiguredServer> = {}) {
  const probe = new ProbeTools();
  const server: ToolServer = createMcpServer(probe, { logger: silentLogger });
  const opened: ToolConnection[] = [];
  const configured = configuredServer({
    open: async () => {
      const connection = new InProcessConnection(server);
      opened.push(connection);
      return connection;
    },
    ...given,
  });
  const reported: string[] = [];
  const events: PoolEvents = {
    onConnect: (name, outcome) => void reported.push(`${name} ${outcome}`),
    onClosed: (name, reason) => void reported.push(`${name} closed: ${reason}`),
    onRefused: (name, reason) => void reported.push(`${name} refused: ${reason}`),
    onBound: (name, bound) => void reported.push(`${name} bound: ${bound}`),
  };
  const pool = new ServerPool({ servers: [configured], refused: [] }, silentLogger, events);
  /** The number of instances by state, without zeros. */
  const census = () =>
    Object.fromEntries(
      pool
        .census()
        .filter(({ count }) => count > 0)
        .map(({ state, count }) => [state, count]),
    );
  return { probe, server, opened, configured, pool, reported, census };
}

const call = (connection: ToolConnection, tool: string, args = {}) =>
  connection.callTool(
    { tool, arguments: args, meta: {} },
    { signal: new AbortController().signal, maxTimeoutMs: 5_000, onProgress: () => undefined },
  );

verifies('tools.pool-one-instance', 'connected once under concurrency, bounded calls', async () => {
  const { pool, probe, opened } = setUp();
  const work = () => pool.use('probe', use(), (connection) => call(connection, 'slow', { ms: 100 }));
  await Promise.all(Array.from({ length: 6 }, work));
  expect(opened).toHaveLength(1);
  expect(probe.mostRunning).toBe(2);
  await pool.close();
  expect(opened[0]!.closed).toBe(true);
});

verifies('limits.server-calls-shared', 'of two pools, each with an instance of its own', async () => {
  const { pool, probe, opened, configured } = setUp({ slots: new FairSlots(2, 100, 'server probe') });
  const other = new ServerPool({ servers: [configured], refused: [] }, silentLogger);
  const work = (of: ServerPool) => of.use('probe', use(), (connection) => call(connection, 'slow', { ms: 50 }));
  await Promise.all([pool, other].flatMap((each) => Array.from({ length: 5 }, () => work(each))));
  expect([opened.length, probe.mostRunning]).toEqual([2, 2]);
  await Promise.all([pool.close(), other.close()]);
});

verifies(
  'tools.pool-one-instance',
  'never shared between sessions or principals, the longest unused one goes',
  async () => {
    const { pool, opened, reported, census } = setUp({ scope: 'session', maxInstances: 3 });
    const echo = (options: UseOptions) =>
      pool.use('probe', options, (connection) => call(connection, 'append', { text: '' }));
    await echo(use('a', 's'));
    await echo(use('b', 's'));
    await echo(use('a', 't'));
    await echo(use('a', 's'));
    expect(opened).toHaveLength(3);
    await echo(use('c', 's'));
    expect([opened.length, pool.instances]).toEqual([4, 3]);
    await expect.poll(() => opened.map(({ closed }) => closed)).toEqual([false, true, false, false]);
    expect(reported.filter((each) => each.includes('closed'))).toEqual(['probe closed: room']);
    expect(census()).toEqual({ idle: 3 });
    await pool.close();
    expect(reported.filter((each) => each === 'probe closed: stopping')).toHaveLength(3);
  },
);

verifies('tools.pool-bounded', 'every instance is in use', async () => {
  const { pool, probe, reported, census } = setUp({ scope: 'session', maxInstances: 2 });
  const running = ['s', 't'].map((session) =>
    pool.use('probe', use('a', session), (connection) => call(connection, 'slow', { ms: 60_000 })),
  );
  await expect.poll(() => probe.running).toBe(2);
  expect(census()).toEqual({ busy: 2 });
  const third = pool.use('probe', use('a', 'u'), async () => 1);
  await expect(third).rejects.toMatchObject({ code: 'tool_unavailable', message: expect.stringContaining('busy') });
  expect(reported.at(-1)).toBe('probe refused: instances');
  await pool.close();
  expect((await Promise.allSettled(running)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

verifies('tools.pool-bounded', 'no call of an instance comes to an end in time', async () => {
  const { pool, probe, reported } = setUp();
  const running = [1, 2].map(() =>
    pool.use('probe', use(), (connection) => call(connection, 'slow', { ms: 60_000 })).catch(() => undefined),
  );
  await expect.poll(() => probe.running).toBe(2);
  const third = pool.use('probe', { ...use(), deadline: Date.now() + 20 }, async () => 1);
  await expect(third).rejects.toMatchObject({ code: 'tool_unavailable', message: expect.stringContaining('busy') });
  expect(reported.at(-1)).toBe('probe refused: concurrency');
  await pool.close();
  await Promise.all(running);
});

verifies(
  'tools.pool-bounded',
  'instances that are slow to end hold up whoever would make them more than twice as many',
  async () => {
    const ends: (() => void)[] = [];
    const unused: Partial<ToolConnection> = {
      closed: false,
      onClosed: () => undefined,
      close: () => new Promise((resolve) => ends.push(resolve)),
    };
    const open = async () => ({ ...unused }) as ToolConnection;
    const { pool, census } = setUp({ scope: 'session', maxInstances: 1, open });
    await pool.use('probe', use('a', 'r'), async () => 1);
    await pool.use('probe', use('a', 's'), async () => 1);
    expect(census()).toEqual({ idle: 1, closing: 1 });
    const third = pool.use('probe', use('a', 't'), async () => 1);
    await expect.poll(() => census()).toEqual({ connecting: 1, closing: 2 });
    ends[0]!();
    expect(await third).toBe(1);
    expect(census()).toEqual({ idle: 1, closing: 1 });
    const closed = pool.close();
    await expect.poll(() => ends.length).toBe(3);
    for (const end of ends) end();
    await closed;
  },
);

test('a session that leaves waits for its own instances only', async () => {
  const held: (() => void)[] = [];
  const { pool, opened, configured } = setUp({ scope: 'session', maxInstances: 4 });
  const { open } = configured;
  configured.open = async (user, signal) => {
    const connection = await open(user, signal);
    if (user.sessionId === 's') connection.close = () => new Promise((resolve) => held.push(resolve));
    return connection;
  };
  await pool.use('probe', use('a', 's'), async () => 1);
  await pool.use('probe', use('a', 't'), async () => 1);
  const slow = pool.closeSession({ principal: 'a', sessionId: 's' });
  await pool.closeSession({ principal: 'a', sessionId: 't' });
  expect(opened[1]!.closed).toBe(true);
  held[0]!();
  await slow;
  await pool.close();
});

verifies('tools.crash-noticed', 'running calls fail, the next one starts anew', async () => {
  const { pool, server, opened, probe, reported } = setUp();
  const running = pool.use('probe', use(), (connection) => call(connection, 'slow', { ms: 5_000 }));
  await expect.poll(() => probe.running).toBe(1);
  await server.close();
  await expect(running).rejects.toMatchObject({ code: 'tool_crashed' });
  const again = await pool.use('probe', use(), (connection) => call(connection, 'append', { text: 'x' }));
  expect(again.content).toEqual([{ type: 'text', text: 'appended' }]);
  expect(opened).toHaveLength(2);
  expect(reported).toEqual(['probe connected', 'probe closed: ended', 'probe connected']);
  await pool.close();
});

verifies(
  'tools.pool-bounded',
  'a server that cannot be connected is left alone, and tried once in a while',
  async () => {
    let tries = 0;
    const open = () => {
      tries += 1;
      return Promise.reject(new Error('away'));
    };
    const { pool, reported } = setUp({ open, scope: 'session' });
    const ask = (session: string) => pool.use('probe', use('a', session), async () => 1);
    for (let at = 0; at < 10; at += 1) await expect(ask('s')).rejects.toThrow();
    expect(tries).toBe(5);
    await expect(ask('s')).rejects.toMatchObject({ code: 'tool_unavailable' });
    expect(reported.filter((each) => each === 'probe failed')).toHaveLength(5);
    expect(reported.at(-1)).toBe('probe refused: circuit');
    await expect(pool.use('other', use(), async () => 1)).rejects.toMatchObject({ code: 'tool_unavailable' });
    const now = performance.now();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(now + 31_000);
    try {
      const asked = await Promise.allSettled(['s', 't', 'u'].map(ask));
      expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
      expect(tries).toBe(6);
    } finally {
      clock.mockRestore();
    }
  },
);

verifies(
  'tools.pool-bounded',
  'an instance that ends each time before it has answered is left alone, those of others are not',
  async () => {
    const { pool, server, opened, reported } = setUp({ scope: 'session' });
    const crash = () => pool.use('probe', use(), () => server.close().then(() => Promise.reject(new Error('crashed'))));
    const answer = (session?: string) => pool.use('probe', use('local', session), async () => 'answered');
    for (let at = 0; at < 4; at += 1) await expect(crash()).rejects.toThrow('crashed');
    await answer();
    for (let at = 0; at < 6; at += 1) await expect(crash()).rejects.toThrow('crashed');
    // The first one had answered.
    expect(opened).toHaveLength(10);
    await expect(crash()).rejects.toMatchObject({ code: 'tool_unavailable' });
    expect([opened.length, reported.at(-1)]).toEqual([10, 'probe refused: circuit']);
    expect(await answer('another')).toBe('answered');
    const now = performance.now();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(now + 31_000);
    try {
      expect(await answer()).toBe('answered');
    } finally {
      clock.mockRestore();
      await pool.close();
    }
  },
);

verifies('tools.pool-standbys', 'what ends as soon as it runs is not replaced without end', async () => {
  const started: ToolServer[] = [];
  const open = async () => {
    if (started.length === 20) throw new Error('without end');
    await started.at(-1)?.close();
    const server = createMcpServer(new ProbeTools(), { logger: silentLogger });
    started.push(server);
    const connection = new InProcessConnection(server);
    return { directory: 'd', connection, adopt: () => connection, discard: () => connection.close() };
  };
  const { pool, census } = setUp({ scope: 'session', standbys: { count: 2, open } });
  pool.warm();
  await expect.poll(() => [census(), started.length]).toEqual([{ standby: 1 }, 2]);
  await pool.close();
});

test('an instance that nobody uses is closed', async () => {
  const { pool, opened } = setUp({ idleTtlMs: 50 });
  await pool.use('probe', use(), async () => 1);
  await expect.poll(() => opened[0]!.closed).toBe(true);
  expect(pool.instances).toBe(0);
});

verifies('tools.reload', 'a call that runs on a removed server completes, the next is refused', async () => {
  const { pool, opened, probe } = setUp();
  const running = pool.use('probe', use(), (connection) => call(connection, 'slow', { ms: 200 }));
  await expect.poll(() => probe.running).toBe(1);
  pool.replace({ servers: [], refused: [] });
  await expect(pool.use('probe', use(), async () => 1)).rejects.toMatchObject({ code: 'tool_unavailable' });
  expect([opened[0]!.closed, pool.instances]).toEqual([false, 0]);
  expect((await running).isError).not.toBe(true);
  await expect.poll(() => opened[0]!.closed).toBe(true);
});

verifies('tools.reload', 'a changed server has a new instance beside the one that calls run on', async () => {
  const { pool, opened, probe, configured } = setUp();
  const running = pool.use('probe', use(), (connection) => call(connection, 'slow', { ms: 200 }));
  await expect.poll(() => probe.running).toBe(1);
  pool.replace({ servers: [{ ...configured, configHash: 'other' }], refused: [] });
  expect(await pool.use('probe', use(), async (connection) => connection === opened[1])).toBe(true);
  expect((await running).isError).not.toBe(true);
  await expect.poll(() => opened.map(({ closed }) => closed)).toEqual([true, false]);
  await pool.close();
});

verifies(
  'tools.reload',
  'an unchanged server keeps its instance, an idle one that has changed ends at once',
  async () => {
    const { pool, opened, configured } = setUp();
    await pool.use('probe', use(), async () => 1);
    pool.replace({ servers: [{ ...configured, order: 3 }], refused: [] });
    await pool.use('probe', use(), async () => 1);
    expect(opened.map(({ closed }) => closed)).toEqual([false]);
    pool.replace({ servers: [{ ...configured, configHash: 'other' }], refused: [] });
    await expect.poll(() => opened[0]!.closed).toBe(true);
  },
);

verifies('tools.reload', 'the pool ends what still runs on a removed server', async () => {
  const { pool, opened, probe } = setUp();
  const running = pool.use('probe', use(), (connection) => call(connection, 'slow', { ms: 60_000 }));
  const failed = expect(running).rejects.toThrow();
  await expect.poll(() => probe.running).toBe(1);
  pool.replace({ servers: [], refused: [] });
  await pool.close();
  expect(opened[0]!.closed).toBe(true);
  await failed;
});

test('a server that could not be connected is tried again at once when it is configured otherwise', async () => {
  const open = () => Promise.reject(new Error('away'));
  const { pool, configured } = setUp({ open });
  for (let at = 0; at < 5; at += 1) await expect(pool.use('probe', use(), async () => 1)).rejects.toThrow();
  const given = { ...configured, configHash: 'other', open: setUp().configured.open };
  pool.replace({ servers: [given], refused: [] });
  expect(await pool.use('probe', use(), async () => 1)).toBe(1);
  await pool.close();
});
