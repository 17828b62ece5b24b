import { expect, test } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import { createMcpServer } from '#libs/mcp-server/create-mcp-server.js';
import type { ToolServer } from '#libs/mcp-server/tool-server.js';
import { verifies } from '../../../test/verifies.js';
import { configuredServer } from '../../../test/support/configured-server.js';
import { ProbeTools } from '../../../test/support/probe-tools.js';
import type { ToolConnection } from './connection.js';
import { InProcessConnection } from './in-process-connection.js';
import { ServerPool, type UseOptions } from './pool.js';
import type { ConfiguredServer } from './configured-server.js';

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
  const pool = new ServerPool({ servers: [configured], refused: [] }, silentLogger);
  return { probe, server, opened, configured, pool };
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

verifies('tools.pool-one-instance', 'never shared between sessions or principals', async () => {
  const { pool, opened } = setUp({ scope: 'session', maxInstances: 3 });
  const echo = (options: UseOptions) =>
    pool.use('probe', options, (connection) => call(connection, 'append', { text: '' }));
  await echo(use('a', 's'));
  await echo(use('b', 's'));
  await echo(use('a', 't'));
  await echo(use('a', 's'));
  expect(opened).toHaveLength(3);
  await echo(use('c', 's'));
  expect([opened.length, pool.instances]).toEqual([4, 3]);
  await pool.close();
});

verifies('tools.crash-noticed', 'running calls fail, the next one starts anew', async () => {
  const { pool, server, opened, probe } = setUp();
  const running = pool.use('probe', use(), (connection) => call(connection, 'slow', { ms: 5_000 }));
  await expect.poll(() => probe.running).toBe(1);
  await server.close();
  await expect(running).rejects.toMatchObject({ code: 'tool_crashed' });
  const again = await pool.use('probe', use(), (connection) => call(connection, 'append', { text: 'x' }));
  expect(again.content).toEqual([{ type: 'text', text: 'appended' }]);
  expect(opened).toHaveLength(2);
  await pool.close();
});

test('a server that cannot be connected is left alone after five failures', async () => {
  let tries = 0;
  const open = () => {
    tries += 1;
    return Promise.reject(new Error('away'));
  };
  const { pool } = setUp({ open });
  for (let at = 0; at < 10; at += 1) {
    await expect(pool.use('probe', use(), async () => 1)).rejects.toThrow();
  }
  expect(tries).toBe(5);
  await expect(pool.use('probe', use(), async () => 1)).rejects.toMatchObject({ code: 'tool_unavailable' });
  await expect(pool.use('other', use(), async () => 1)).rejects.toMatchObject({ code: 'tool_unavailable' });
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
