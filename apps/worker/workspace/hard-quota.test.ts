// Command servers with this machine's isolation, in workspaces with hard quotas.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { fixture, hostile, openToolServers, type ToolServers } from '../../../test/support/tool-servers.js';
import { verifies } from '../../../test/verifies.js';
import { ConfigError } from '#libs/config/config-error.js';

const limits = { maxBytes: 2 ** 20, maxFiles: 200, quota: 'hard' as const };
const servers = {
  own: hostile(),
  all: { ...hostile(), scope: 'shared' },
  ready: { command: 'node', args: [fixture('hostile'), '${WORKSPACE}'], spares: 1 },
};

async function openHard(): Promise<ToolServers | undefined> {
  try {
    return await openToolServers(servers, { limits });
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

const opened = await openHard();

describe.skipIf(opened === undefined)('hard quotas (they need root with CAP_SYS_ADMIN)', () => {
  verifies('tools.workspace-quota-hard', 'a command server is refused the write, not ended', async () => {
    const { workspaces, directory, pool, bounds, call, close } = opened!;
    const mounts = () =>
      readFileSync('/proc/self/mounts', 'utf8')
        .split('\n')
        .filter((line) => line.includes(directory));
    try {
      // The fixture does not catch the error, so its process ends.
      const full = call('own', 'fill', { args: { files: 100 } });
      await expect(full).rejects.not.toMatchObject({ code: 'workspace_quota_exceeded' });
      const host = workspaces.hostPath('ws_sess_a');
      const files = readdirSync(host).filter((name) => name.startsWith('fill-'));
      const bytes = files.map((name) => statSync(join(host, name)).size).reduce((sum, size) => sum + size, 0);
      expect(bytes).toBe(limits.maxBytes);
      expect(bounds).toEqual([]);

      pool.warm();
      const spares = () => pool.census().find((line) => line.server === 'ready' && line.state === 'spare')?.count;
      await expect.poll(spares, { timeout: 20_000 }).toBe(1);
      expect(mounts()).toHaveLength((await workspaces.directories()).length);
      expect(mounts()).toHaveLength(2);

      await call('all', 'echo', { args: { text: 'shared' } });
      expect(mounts().filter((line) => line.includes('tool-servers/'))).toEqual([]);
    } finally {
      await pool.close();
      for (const name of await workspaces.directories()) await workspaces.remove(name);
      expect(mounts()).toEqual([]);
      await close();
    }
  });
});
