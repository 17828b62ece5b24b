// Standby instances with real processes. Directories are assigned as by the store.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isAlive } from '#libs/process/process-identity.js';
import { fixture, openToolServers, type ToolServers } from '../../../../test/support/tool-servers.js';
import { verifies } from '../../../../test/verifies.js';
import { countToolProcesses } from '../../sandbox/tool-process.js';

let opened: ToolServers;
/** Directories by session. A new session takes the offered one. */
const directories = new Map<string, string>();
const later = { timeout: 20_000 };

async function open(standbys: number, more: object = {}): Promise<void> {
  await begin(standbys, more);
  await expect.poll(counts, later).toMatchObject({ standby: standbys, connecting: 0 });
}

/** Resolves when the standbys are starting. */
async function begin(standbys: number, more: object): Promise<void> {
  const env = { WHERE: '${WORKSPACE}/y' };
  opened = await openToolServers({
    ready: { command: 'node', args: [fixture('hostile'), '${WORKSPACE}'], env, standbys, ...more },
  });
  opened.pool.warm();
}
beforeEach(() => directories.clear());
afterEach(async () => {
  await opened.close();
  expect(await countToolProcesses()).toBe(0);
});

const counts = () => Object.fromEntries(opened.pool.census().map(({ state, count }) => [state, count]));
const workspaces = () => readdir(join(opened.directory, 'workspaces'));

async function called(session: string) {
  const { directory } = await opened.pool.offerStandby('ready', async (offered) => {
    if (!directories.has(session)) directories.set(session, offered ?? `ws_${session}`);
    return { directory: directories.get(session)! };
  });
  const result = await opened.call('ready', 'where', { session, directory });
  const { pid, args, environment } = result.structuredContent as {
    pid: number;
    args: string[];
    environment: Record<string, string>;
  };
  return { pid, args, environment, directory };
}

verifies('tools.pool-standbys', 'born where the session works, under its name, and never handed on', async () => {
  await open(2);
  const before = await workspaces();
  expect(before).toHaveLength(2);
  const first = await called('sess_a');
  expect(before).toContain(first.directory);
  const shown = '/mcp_workspaces/sess_a';
  expect(first.args[2]).toBe(shown);
  expect(first.environment).toMatchObject({ HOME: shown, TMPDIR: `${shown}/.tmp`, WHERE: `${shown}/y` });
  const second = await called('sess_b');
  expect(second.pid).not.toBe(first.pid);
  expect(second.args[2]).toBe('/mcp_workspaces/sess_b');
  expect(await called('sess_a')).toEqual(first);
  // Two others are started instead.
  await expect.poll(counts, later).toMatchObject({ standby: 2, connecting: 0, idle: 2 });
  await opened.pool.closeSession({ principal: 'local', sessionId: 'sess_a' });
  const again = await called('sess_a');
  expect([again.directory, again.pid === first.pid]).toEqual([first.directory, false]);
  expect(isAlive(first.pid)).toBe(false);
});

verifies('tools.pool-standbys', 'a session that has a directory keeps it, its files stay where they are', async () => {
  await open(1);
  const [born] = await workspaces();
  directories.set('sess_old', 'ws_old');
  expect((await called('sess_old')).directory).toBe('ws_old');
  expect((await called('sess_new')).directory).toBe(born);
});

verifies('tools.pool-standbys', 'what the store may have taken goes to nobody else', async () => {
  await open(1);
  const [born] = await workspaces();
  const lost = opened.pool.offerStandby('ready', () => Promise.reject(new Error('the answer is lost')));
  await expect(lost).rejects.toThrow('the answer is lost');
  expect((await called('sess_a')).directory).not.toBe(born);
  // The row may exist, so the sweeper decides about the directory.
  await expect.poll(countToolProcesses, later).toBe(2);
  expect(await workspaces()).toContain(born);
});

verifies('tools.pool-standbys', 'within max_instances: they make room for sessions', async () => {
  await open(2, { max_instances: 2 });
  directories.set('sess_a', 'ws_a').set('sess_b', 'ws_b');
  await called('sess_a');
  await called('sess_b');
  await expect.poll(counts, later).toMatchObject({ standby: 0, connecting: 0, idle: 2, closing: 0 });
  await expect.poll(async () => (await workspaces()).sort(), later).toEqual(['ws_a', 'ws_b']);
  await expect.poll(countToolProcesses, later).toBe(2);
});

verifies('tools.pool-standbys', 'one that is being started refuses no session its place', async () => {
  await begin(1, { max_instances: 1 });
  expect(counts()).toMatchObject({ standby: 0, connecting: 1 });
  directories.set('sess_a', 'ws_a');
  await called('sess_a');
  await expect.poll(counts, later).toMatchObject({ standby: 0, connecting: 0, idle: 1 });
  await expect.poll(countToolProcesses, later).toBe(1);
  expect(await workspaces()).toEqual(['ws_a']);
});

verifies('tools.pool-standbys', 'one that dies, or that nobody wants for a while, leaves nothing behind', async () => {
  await open(1, { idle_ttl_ms: 2_000 });
  await expect.poll(workspaces, later).toEqual([]);
  expect(counts()).toMatchObject({ standby: 0, connecting: 0 });
  // After another use there is a standby again.
  directories.set('sess_a', 'ws_a');
  await called('sess_a');
  await expect.poll(counts, later).toMatchObject({ standby: 1 });
});

test('a server that is configured otherwise has no standbys of before', async () => {
  await open(1);
  const [born] = await workspaces();
  const servers = opened.configured.servers.map((server) => ({ ...server, configHash: 'other' }));
  opened.pool.replace({ servers, refused: [] });
  await expect.poll(async () => (await workspaces()).includes(born!), later).toBe(false);
  await expect.poll(counts, later).toMatchObject({ standby: 1 });
});
