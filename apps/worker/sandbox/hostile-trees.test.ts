// Servers whose processes try to outlive them: whatever way they end, nothing of them is left.
import { afterEach, beforeEach, expect } from 'vitest';
import { isAlive } from '#libs/process/process-identity.js';
import { hostile, openToolServers, type ToolServers } from '../../../test/support/tool-servers.js';
import { verifies } from '../../../test/verifies.js';
import { countToolProcesses } from './tool-process.js';

let servers: ToolServers;

beforeEach(async () => {
  servers = await openToolServers({ bad: hostile(), deaf: hostile('--ignore-term'), slow: hostile('--silent') });
});
afterEach(async () => {
  await servers.close();
  expect(await countToolProcesses()).toBe(0);
});

const noneLeft = () => expect.poll(countToolProcesses, { timeout: 20_000 }).toBe(0);

verifies('tools.nothing-left-alive', 'a grandchild whose parents have ended, in a session of its own', async () => {
  for (const [server, end] of [
    ['bad', () => servers.pool.closeSession({ principal: 'local', sessionId: 'sess_a' })],
    ['deaf', () => servers.pool.closeSession({ principal: 'local', sessionId: 'sess_a' })],
    ['bad', () => expect(servers.call('bad', 'crash')).rejects.toMatchObject({ code: 'tool_crashed' })],
  ] as const) {
    // The other has cleared its environment as well: only a limit tells whose it is.
    const left = await Promise.all(['adrift', 'vanished'].map((tool) => servers.call(server, tool)));
    const pids = left.map(({ content }) => Number((content as { text: string }[])[0]!.text));
    expect(pids.map(isAlive)).toEqual([true, true]);
    await end();
    await noneLeft();
    expect(pids.map(isAlive)).toEqual([false, false]);
  }
});

verifies('tools.nothing-left-alive', 'one that starts others while it is being ended', async () => {
  await servers.call('deaf', 'hydra');
  await servers.pool.closeSession({ principal: 'local', sessionId: 'sess_a' });
  expect(await countToolProcesses()).toBe(0);
});

verifies('tools.nothing-left-alive', 'one that is another process whenever it is looked at', async () => {
  await servers.call('bad', 'hopper');
  expect(await countToolProcesses()).toBeGreaterThanOrEqual(2);
  await servers.pool.closeSession({ principal: 'local', sessionId: 'sess_a' });
  expect(await countToolProcesses()).toBe(0);
});

verifies('tools.nothing-left-alive', 'an output that a grandchild holds open hides no crash', async () => {
  await expect(servers.call('bad', 'heldOutput')).rejects.toMatchObject({
    code: 'tool_crashed',
    message: expect.stringContaining('exit code 3'),
  });
  await noneLeft();
});

verifies('tools.nothing-left-alive', 'whoever started it does not wait for it any more', async () => {
  const { open } = servers.configured.servers.find(({ name }) => name === 'slow')!;
  const user = { principal: 'local', sessionId: 'sess_a', directory: 'ws_a' };
  // At once, before there is a process; and while it says nothing.
  for (const afterMs of [0, 1, 5, 20, 100]) {
    const opening = open(user, AbortSignal.timeout(afterMs));
    await expect(opening).rejects.toThrow();
    expect(await countToolProcesses()).toBe(0);
  }
  const stop = new AbortController();
  const opening = open(user, stop.signal);
  stop.abort(new Error('nobody waits'));
  await expect(opening).rejects.toThrow();
  expect(await countToolProcesses()).toBe(0);
});
