// Tool servers of a worker that is root. An ordinary user's worker has nobody to change to; a node that only root may run
// leaves nothing to see.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { ownUserOf } from '#libs/workspace/own-directory.js';
import { fixture, openToolServers, type ToolServers } from '../../../../test/support/tool-servers.js';
import { verifies } from '../../../../test/verifies.js';
import { findUserChange, isOpenToAll } from './change-user.js';

const change = findUserChange(process.env['PATH'] ?? '');
const applies = change !== undefined && (await isOpenToAll(process.execPath));

describe.skipIf(!applies)('as root', () => {
  let place: string;
  let servers: ToolServers;

  beforeEach(async () => {
    place = mkdtempSync(join(tmpdir(), 'change-user-'));
    const program = join(place, 'hostile.mjs');
    copyFileSync(fixture('hostile'), program);
    const each = { command: 'node', args: [program] };
    servers = await openToolServers({ own: each, all: { ...each, scope: 'shared' } });
  });
  afterEach(async () => {
    await servers.close();
    rmSync(place, { recursive: true });
  });

  const tell = async (server: string, tool: string, args: object = {}, session = 'sess_a') => {
    const { content } = await servers.call(server, tool, { args, session });
    return (content as { text: string }[])[0]!.text;
  };
  const of = (text: string, name: string) => new RegExp(`^${name}:?\\s+(\\S+)`, 'm').exec(text)?.[1];
  const open = () => {
    for (const path of [place, servers.directory]) chmodSync(path, 0o755);
  };

  verifies('tools.root-drops-its-rights', 'each session has a user, who may do nothing else', async () => {
    open();
    const rights = [
      await tell('own', 'rights'),
      await tell('own', 'rights', {}, 'sess_b'),
      await tell('all', 'rights'),
    ];
    expect(rights.map((text) => of(text, 'Uid'))).toEqual(['ws_sess_a', 'ws_sess_b', 'all'].map(ownUserOf).map(String));
    for (const text of rights) {
      expect(of(text, 'CapEff')).toBe('0000000000000000');
      expect(of(text, 'NoNewPrivs')).toBe('1');
      expect(of(text, 'Max processes')).toBe('1024');
    }
    expect(await tell('own', 'signal', { pid: process.pid })).toBe('EPERM');
  });

  verifies(
    'tools.root-drops-its-rights',
    "its own files are its own, another session's and root's are closed to it",
    async () => {
      open();
      const other = servers.workspaces.workspace({ id: 'sess_b', directory: 'ws_sess_b' });
      await other.write('deep/secret.txt', Buffer.from('secret'), { createDirectories: true });
      const ours = servers.workspaces.workspace({ id: 'sess_a', directory: 'ws_sess_a' });
      await ours.write('deep/note.txt', Buffer.from('note'), { createDirectories: true });
      const rootFile = join(place, 'root.txt');
      writeFileSync(rootFile, 'root', { mode: 0o600 });
      const secret = join(servers.workspaces.hostPath('ws_sess_b'), 'deep/secret.txt');
      expect(await tell('own', 'read', { path: 'deep/note.txt' })).toBe('note');
      expect(await tell('own', 'read', { path: secret })).toBe('EACCES');
      expect(await tell('own', 'read', { path: rootFile })).toBe('EACCES');
    },
  );

  verifies('tools.root-drops-its-rights', 'files that an earlier version made as root are given to it', async () => {
    open();
    const old = servers.workspaces.workspace({ id: 'sess_a', directory: 'ws_sess_a' });
    await old.write('deep/note.txt', Buffer.from('note'), { createDirectories: true });
    const host = servers.workspaces.hostPath('ws_sess_a');
    execFileSync('chown', ['-R', '0:0', host]);
    expect(await tell('own', 'read', { path: 'deep/note.txt' })).toBe('note');
    const user = ownUserOf('ws_sess_a');
    expect(['.', '.tmp', 'deep', 'deep/note.txt'].map((path) => statSync(join(host, path)).uid)).toEqual(
      [user, user, user, user], //
    );
  });

  verifies(
    'tools.root-drops-its-rights',
    'where the way to its program is closed, it may read, and change nothing',
    async () => {
      expect(await isOpenToAll(join(place, 'hostile.mjs'))).toBe(false);
      const rights = await tell('own', 'rights');
      if (change?.mayReadAll !== true) {
        // A container's root has no such right to give.
        expect(of(rights, 'Uid')).toBe('0');
        expect(servers.log.map(({ message }) => message)).toContainEqual(expect.stringContaining('runs as root'));
        return;
      }
      expect(of(rights, 'Uid')).toBe(String(ownUserOf('ws_sess_a')));
      // CAP_DAC_READ_SEARCH alone.
      expect(of(rights, 'CapEff')).toBe('0000000000000004');
      expect(await tell('own', 'signal', { pid: process.pid })).toBe('EPERM');
    },
  );
});
