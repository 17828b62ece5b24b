// What a command server may take: bytes and files of its workspace, and memory, all its processes together.
import { describe, expect } from 'vitest';
import { findTestIsolation } from '../../../test/support/isolation.js';
import { hostile, openToolServers, type ToolServers } from '../../../test/support/tool-servers.js';
import { verifies } from '../../../test/verifies.js';
import { countToolProcesses } from './tool-process.js';

const isolation = await findTestIsolation();

const saidBy = async (servers: ToolServers, tool: string, call: Parameters<ToolServers['call']>[2]) => {
  const { content } = await servers.call('own', tool, call);
  return (content as { text: string }[])[0]!.text;
};

describe.skipIf(isolation.refusal('confined') !== undefined)('confined', () => {
  verifies('tools.quota-of-commands', 'a call that fills its workspace ends, and says why', async () => {
    const limits = { maxBytes: 20 * 2 ** 20 };
    const opened = await openToolServers({ own: hostile(), all: { ...hostile(), scope: 'shared' } }, { limits });
    try {
      for (const server of ['own', 'all']) {
        await expect(opened.call(server, 'fill', { args: { files: 100_000 } }), server).rejects.toMatchObject({
          code: 'workspace_quota_exceeded',
          message: expect.stringContaining(`at most ${limits.maxBytes} bytes`),
        });
      }
      expect(opened.bounds).toEqual(['own: workspace', 'all: workspace']);
      // Of a session that is full already: what is there may stay, and may be deleted.
      expect(await saidBy(opened, 'echo', { args: { text: 'here' } })).toBe('here');
    } finally {
      await opened.close();
    }
  });

  verifies('tools.quota-of-commands', 'as many files as it can make: one in a hundred too many at most', async () => {
    const maxFiles = 1_000;
    const opened = await openToolServers({ own: hostile() }, { limits: { maxFiles } });
    try {
      await expect(opened.call('own', 'names', { args: { files: 1_000_000 } })).rejects.toMatchObject({
        code: 'workspace_quota_exceeded',
        message: expect.stringContaining(`at most ${maxFiles} files and directories`),
      });
      const { files, directories } = await opened.workspaces.measure('ws_sess_a');
      expect(files + directories).toBeGreaterThan(maxFiles);
      expect(files + directories).toBeLessThanOrEqual(maxFiles * 1.01);
      // Below the limit it may write on, whatever it has written already.
      for (let round = 0; round < 3; round += 1) {
        const args = { files: 900, bytes: 1 };
        expect(await saidBy(opened, 'fill', { args, session: 'sess_b' })).toBe('filled');
      }
    } finally {
      await opened.close();
    }
  });

  verifies('tools.memory-of-commands', 'of several programs together, each with less than that', async () => {
    const bytes = 400 * 2 ** 20;
    const opened = await openToolServers({ own: { ...hostile(), max_memory_bytes: bytes } });
    try {
      expect(await saidBy(opened, 'hoard', { args: { programs: 1, megabytes: 100 } })).toBe('held');
      await expect(
        opened.call('own', 'hoard', { args: { programs: 4, megabytes: 100, silent: true } }),
      ).rejects.toMatchObject({
        code: 'tool_crashed',
        message: expect.stringContaining(`its max_memory_bytes (${bytes} bytes)`),
      });
      expect(opened.bounds).toEqual(['own: memory']);
      expect(await saidBy(opened, 'echo', { args: { text: 'here' } })).toBe('here');
    } finally {
      await opened.close();
    }
    expect(await countToolProcesses()).toBe(0);
  });
});
