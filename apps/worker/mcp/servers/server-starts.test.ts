// A few programs of tool servers start at a time, others wait: the queue itself, and real processes.
import { getPriority } from 'node:os';
import { expect } from 'vitest';
import { hostile, openToolServers, type ToolServers } from '../../../../test/support/tool-servers.js';
import { verifies } from '../../../../test/verifies.js';
import { countToolProcesses } from '../../sandbox/tool-process.js';
import { ServerStarts, StartRefused } from './server-starts.js';

const never = new AbortController().signal;
/** Equal to what the launcher sets. */
const toolNiceness = 10;
const soon = { timeout: 20_000, interval: 20 };

const counts = ({ pool }: ToolServers, name: string) =>
  Object.fromEntries(
    pool
      .census()
      .filter(({ server, count }) => server === name && count > 0)
      .map(({ state, count }) => [state, count]),
  );

verifies(
  'tools.starts-bounded',
  'six at once, two places: in order, and those that fail give theirs back',
  async () => {
    const starts = new ServerStarts({ limit: 2 });
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    const all = Array.from({ length: 6 }, (_each, at) =>
      starts.run('probe', never, async () => {
        begun.push(at);
        await new Promise<void>((resolve) => (ends[at] = resolve));
        if (at % 2 === 0) throw new Error(`${at} cannot start`);
        return at;
      }),
    );
    const settled = Promise.allSettled(all);
    for (let at = 0; at < 6; at += 1) {
      await expect.poll(() => begun).toEqual([0, 1, 2, 3, 4, 5].slice(0, Math.min(6, at + 2)));
      expect(starts.waiting('probe')).toBe(Math.max(0, 4 - at));
      ends[at]!();
      await all[at]!.catch(() => undefined);
    }
    expect((await settled).map(({ status }) => status === 'fulfilled')).toEqual([
      false,
      true,
      false,
      true,
      false,
      true,
    ]);
  },
);

verifies('tools.starts-bounded', 'a worker that stops lets go who waits', async () => {
  const starts = new ServerStarts({ limit: 1 });
  const first = starts.run('probe', AbortSignal.timeout(60_000), () => new Promise(() => undefined));
  const stop = new AbortController();
  const second = starts.run('probe', stop.signal, async () => 1);
  stop.abort(new Error('the worker is stopping'));
  await expect(second).rejects.toThrow('the worker is stopping');
  expect(starts.waiting('probe')).toBe(0);
  void first;
});

verifies('tools.starts-bounded', 'refused in time, and no failure of the server that was refused', async () => {
  const refused: string[] = [];
  const starts = { limit: 1, waitMs: 1_000, holdMs: 60_000, onRefused: (server: string) => void refused.push(server) };
  const servers = await openToolServers({ silent: hostile('--silent', '--ignore-term'), good: hostile() }, { starts });
  try {
    const holding = servers.call('silent', 'echo').catch((error: Error) => error);
    await expect.poll(countToolProcesses, soon).toBe(1);
    const sessions = ['a', 'b', 'c', 'd', 'e', 'f'];
    const calls = sessions.map((session) => servers.call('good', 'echo', { session }).catch((error: unknown) => error));
    await expect.poll(() => counts(servers, 'good'), soon).toEqual({ waiting: 6 });
    for (const error of await Promise.all(calls)) {
      expect(error).toBeInstanceOf(StartRefused);
      expect(error).toMatchObject({ code: 'tool_unavailable', message: expect.stringContaining("'good'") });
    }
    expect(refused).toEqual(sessions.map(() => 'good'));
    // Five failures would block the server.
    expect(servers.log.filter(({ message }) => message.includes('could not be connected'))).toEqual([]);
    void holding;
  } finally {
    await servers.close();
  }
});

verifies(
  'tools.starts-bounded',
  'one that says nothing while it starts holds up the others for a moment only',
  async () => {
    const servers = await openToolServers(
      { silent: hostile('--silent', '--ignore-term'), good: hostile() },
      { starts: { limit: 1, holdMs: 100 } },
    );
    try {
      const holding = servers.call('silent', 'echo').catch((error: Error) => error);
      await expect.poll(countToolProcesses, soon).toBe(1);
      expect(await servers.call('good', 'echo', { args: { text: 'here' } })).toMatchObject({
        content: [{ text: 'here' }],
      });
      expect(counts(servers, 'silent')).toEqual({ connecting: 1 });
      void holding;
    } finally {
      await servers.close();
    }
  },
);

verifies('tools.give-way', 'a server, and what it leaves running in a session of its own', async () => {
  const servers = await openToolServers({ bad: hostile() });
  try {
    const { content } = await servers.call('bad', 'adrift');
    const left = Number((content as { text: string }[])[0]!.text);
    const { structuredContent } = await servers.call('bad', 'where');
    const { pid } = structuredContent as { pid: number };
    expect([pid, left].map((each) => getPriority(each))).toEqual([toolNiceness, toolNiceness]);
    expect(getPriority()).toBeLessThan(toolNiceness);
  } finally {
    await servers.close();
  }
});
