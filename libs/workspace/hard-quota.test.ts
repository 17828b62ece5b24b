import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConfigError } from '#libs/config/config-error.js';
import { codeOf, createTestWorkspace, readText, testLimits, type TestWorkspace } from '#libs/testing/test-workspace.js';
import { verifies } from '../../test/verifies.js';
import { Workspaces, type WorkspaceBounds } from './workspaces.js';

const limits: WorkspaceBounds = { ...testLimits, maxBytes: 1024 * 1024, maxFiles: 20, quota: 'hard' };
let made: TestWorkspace;
let hard: Workspaces;

const mounts = () =>
  readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .filter((line) => line.includes(made.root));
const session = (name: string, workspaces = hard) => workspaces.workspace({ id: `sess_${name}`, directory: name });
/** A program that writes by itself, as a command server does; no code of ours counts for it. */
const shell = (script: string) => spawnSync('sh', ['-c', script], { cwd: join(made.root, 'h'), encoding: 'utf8' });

const mayMount = await canMount();

async function canMount(): Promise<boolean> {
  made = await createTestWorkspace();
  try {
    await Workspaces.open(made.root, limits);
    return true;
  } catch (error) {
    if (error instanceof ConfigError) return false;
    throw error;
  } finally {
    made.remove();
  }
}

describe.skipIf(!mayMount)('hard quotas (they need root with CAP_SYS_ADMIN)', () => {
  beforeEach(async () => {
    made = await createTestWorkspace();
    hard = await Workspaces.open(made.root, limits);
  });

  afterEach(async () => {
    for (const name of await hard.directories()) await hard.remove(name);
    expect(mounts()).toEqual([]);
    made.remove();
  });

  verifies('tools.workspace-quota-hard', 'a program that writes more than the bytes or the files', async () => {
    await session('h').ensure();
    const bytes = shell('dd if=/dev/zero of=big bs=64k count=100');
    expect(bytes.stderr).toContain('No space left on device');
    expect(statSync(join(made.root, 'h/big')).size).toBe(1024 * 1024);
    const files = shell('rm big; i=0; while : > f$i; do i=$((i+1)); done');
    expect(files.stderr).toContain('No space left on device');
    expect(readdirSync(join(made.root, 'h')).filter((name) => name !== '.tmp')).toHaveLength(20);
    expect(await hard.measure('h')).toMatchObject({ files: 20, directories: 0 });
  });

  test('it is of the user of the tool servers, and nothing in it gets rights or is a device', async () => {
    await session('h').ensure();
    expect(execFileSync('stat', ['-c', '%u %g %a', '.', '.tmp'], { cwd: join(made.root, 'h') }).toString()).toBe(
      '1879048192 1879048192 700\n1879048192 1879048192 700\n',
    );
    expect(mounts()).toEqual([expect.stringMatching(/tmpfs rw,nosuid,nodev,.*size=1024k,nr_inodes=22,mode=700/)]);
  });

  test('builtin tools keep their count, and a full file system is the quota of the session, not the disk', async () => {
    const workspace = session('h');
    expect(await codeOf(workspace.write('a', new Uint8Array(1024 * 1024 + 1)))).toBe('workspace_quota_exceeded');
    await workspace.write('a', new Uint8Array(700 * 1024));
    // Both are there until the new one is whole.
    const replacing = workspace.write('a', new Uint8Array(800 * 1024));
    await expect(replacing).rejects.toMatchObject({
      code: 'workspace_quota_exceeded',
      message: expect.stringContaining('Delete files first') as string,
    });
    expect((await workspace.stat('a')).size).toBe(700 * 1024);
    expect(readdirSync(join(made.root, 'h')).sort()).toEqual(['.tmp', 'a']);
    expect(await codeOf(workspace.write('b', new Uint8Array(300 * 1024)))).toBe('ok');
  });

  test('it is mounted once, by however many at once, and a new process finds it', async () => {
    const other = await Workspaces.open(made.root, limits);
    await Promise.all([hard, other, hard, other].map((workspaces) => session('h', workspaces).ensure()));
    expect(mounts()).toHaveLength(1);
    await session('h').write('kept', Buffer.from('kept'));
    await session('h', await Workspaces.open(made.root, limits)).ensure();
    expect(mounts()).toHaveLength(1);
    expect(await readText(session('h', other), 'kept')).toBe('kept');
  });

  test('a removal leaves no mount and no directory, with a file open, and when quotas are soft again', async () => {
    await session('h').write('open', Buffer.from('open'));
    const open = await session('h').openFile('open');
    try {
      expect(await hard.remove('h')).toBe(true);
    } finally {
      await open.close();
    }
    expect([existsSync(join(made.root, 'h')), mounts()]).toEqual([false, []]);
    await session('h').write('again', Buffer.from('again'));
    expect(await made.workspaces.remove('h')).toBe(true);
    expect([existsSync(join(made.root, 'h')), mounts()]).toEqual([false, []]);
  });

  test('what a trial left whose process died goes with the next sweep', async () => {
    const left = join(made.root, '.removing-trial');
    mkdirSync(left);
    execFileSync('mount', ['-t', 'tmpfs', 'trial', left]);
    expect(await hard.finishRemovals(() => expect.unreachable())).toBe(1);
    expect([existsSync(left), mounts()]).toEqual([false, []]);
  });

  test('files from before are not hidden: they are read, and writing says why it is refused', async () => {
    writeFileSync(join(made.host, 'old'), 'old');
    const workspace = session('dir-a');
    expect(await codeOf(workspace.write('new', Buffer.from('new')))).toBe('workspace_unavailable');
    expect(await readText(workspace, 'old')).toBe('old');
  });
});
