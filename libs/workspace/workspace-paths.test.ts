import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  codeOf,
  createTestWorkspace,
  readText,
  testLimits as limits,
  type TestWorkspace,
} from '../../test/support/test-workspace.js';
import { verifies } from '../../test/verifies.js';
import type { Workspace } from './workspace.js';
import { Workspaces } from './workspaces.js';

let made: TestWorkspace;
let base: string;
let root: string;
let workspaces: Workspaces;
let workspace: Workspace;
let host: string;

beforeEach(async () => {
  made = await createTestWorkspace();
  ({ base, root, workspaces, workspace, host } = made);
});

afterEach(() => made.remove());

const bytes = (text: string) => Buffer.from(text);
const read = (path: string) => readText(workspace, path);

describe('hostile paths', () => {
  const outside = 'path_outside_workspace';
  const malformed = 'invalid_value';
  /** path → code of reading it, code of writing it. */
  const table: [name: string, path: string, read: string, write: string][] = [
    ['parent', '../sess_b/x', outside, outside],
    ['parent after a name', 'a/../../sess_b', outside, outside],
    ['other session', '/mcp_workspaces/sess_b/x', outside, outside],
    ['own session as a prefix', '/mcp_workspaces/sess_ab', outside, outside],
    ['own session as a prefix, with a file', '/mcp_workspaces/sess_ab/x', outside, outside],
    ['own session, then up', '/mcp_workspaces/sess_a/../sess_b/x', outside, outside],
    ['dots and more', '.._', 'file_not_found', 'ok'],
    ['encoded', '%2e%2e%2f', 'file_not_found', 'ok'],
    ['overlong encoding', '..%c0%af', 'file_not_found', 'ok'],
    ['backslashes', '..\\..\\', 'file_not_found', 'ok'],
    ['full-width dots', '\uff0e\uff0e', 'file_not_found', 'ok'],
    ['NUL', 'x\u0000.txt', malformed, malformed],
    ['lone surrogate', 'x\ud800.txt', malformed, malformed],
    ['5000 characters', 'a/'.repeat(2_500), malformed, malformed],
    ['name of 256 bytes', 'n'.repeat(256), malformed, malformed],
    ['name of 255 bytes', 'n'.repeat(255), 'file_not_found', 'ok'],
    ['name of 256 bytes in UTF-8', 'é'.repeat(128), malformed, malformed],
    ['the workspace itself', '.', malformed, malformed],
    ['nothing', '', malformed, malformed],
    ['a space', ' ', 'file_not_found', 'ok'],
    ['trailing dot', 'x.', 'file_not_found', 'ok'],
    ['file URL', 'file:///etc/passwd', outside, outside],
    ['home', '~/', outside, outside],
    ['home file', '~/.ssh/id_rsa', outside, outside],
    ['root', '/', outside, outside],
    ['absolute', '/etc/passwd', outside, outside],
    ['environment', '/proc/self/environ', outside, outside],
    ['process root', '/proc/self/root/etc', outside, outside],
    ['descriptor', '/dev/fd/0', outside, outside],
    ['option', '-rf', 'file_not_found', 'ok'],
    ['newline', 'a\nb', 'file_not_found', 'ok'],
    ['temporary', '/tmp/config.json', 'file_not_found', 'ok'],
    ['temporary, then up', '/tmp/../../x', outside, outside],
    ['own absolute', '/mcp_workspaces/sess_a/x.txt', 'file_not_found', 'ok'],
    ['reserved', '.signalbox-x', malformed, malformed],
  ];

  for (const [name, path, whenRead, whenWritten] of table) {
    verifies('tools.workspace-paths-confined', name, async () => {
      expect(await codeOf(workspace.openFile(path))).toBe(whenRead);
      expect(await codeOf(workspace.write(path, bytes('x')))).toBe(whenWritten);
      expect(readdirSync(base)).toEqual(['workspaces']);
      expect(readdirSync(root)).toEqual(['dir-a']);
      if (whenWritten === 'ok') expect(await read(path)).toBe('x');
    });
  }

  test('/tmp is the own .tmp, /mcp_workspaces/<own> the workspace', async () => {
    await workspace.write('/tmp/config.json', bytes('{}'));
    await workspace.write('/mcp_workspaces/sess_a/x.txt', bytes('x'));
    expect(readFileSync(join(host, '.tmp/config.json'), 'utf8')).toBe('{}');
    expect(await read('.tmp/config.json')).toBe('{}');
    expect(await read('x.txt')).toBe('x');
  });

  test('twin names are different files', async () => {
    await workspace.write('é', bytes('composed'));
    await workspace.write('e\u0301', bytes('decomposed'));
    expect([await read('é'), await read('e\u0301')]).toEqual(['composed', 'decomposed']);
  });
});

describe('what is on the disk already', () => {
  let secret: string;
  beforeEach(() => {
    mkdirSync(join(base, 'outside'));
    secret = join(base, 'outside', 'secret');
    writeFileSync(secret, 'secret');
  });

  const operations: [string, (path: string) => Promise<unknown>][] = [
    ['read', (path) => workspace.openFile(path)],
    ['write', (path) => workspace.write(path, bytes('x'))],
    ['append', (path) => workspace.write(path, bytes('x'), { append: true })],
  ];

  for (const [operation, run] of operations) {
    verifies('tools.workspace-links-refused', operation, async () => {
      symlinkSync(join(base, 'outside'), join(host, 'directory'));
      symlinkSync(secret, join(host, 'file'));
      symlinkSync(join(base, 'outside', 'new'), join(host, 'dangling'));
      symlinkSync('loop', join(host, 'loop'));
      symlinkSync('/proc/self/root', join(host, 'proc'));
      for (const path of [
        'directory/secret',
        'directory/new',
        'file',
        'dangling',
        'loop',
        'loop/x',
        'proc/etc/passwd',
      ]) {
        expect(await codeOf(run(path)), path).toBe('path_outside_workspace');
      }
      expect(readdirSync(join(base, 'outside'))).toEqual(['secret']);
      expect(readFileSync(secret, 'utf8')).toBe('secret');
    });
  }

  verifies('tools.workspace-links-refused', 'hard link to a file outside', async () => {
    linkSync(secret, join(host, 'hard'));
    expect(await codeOf(workspace.openFile('hard'))).toBe('path_outside_workspace');
    expect(await codeOf(workspace.write('hard', bytes('x'), { append: true }))).toBe('path_outside_workspace');
    await workspace.write('hard', bytes('mine'));
    expect(readFileSync(secret, 'utf8')).toBe('secret');
    expect(await read('hard')).toBe('mine');
  });

  verifies('tools.workspace-links-refused', 'the session directory itself is a link', async () => {
    symlinkSync(join(base, 'outside'), join(root, 'dir-b'));
    const other = workspaces.workspace({ id: 'sess_b', directory: 'dir-b' });
    for (const run of [() => other.openFile('secret'), () => other.write('x', bytes('x')), () => other.usage()]) {
      expect(await codeOf(run())).not.toBe('ok');
    }
    expect(readdirSync(join(base, 'outside'))).toEqual(['secret']);
    await workspaces.remove('dir-b');
    expect(readdirSync(join(base, 'outside'))).toEqual(['secret']);
    expect(existsSync(join(root, 'dir-b'))).toBe(false);
  });

  verifies('tools.workspace-links-refused', 'pipe and socket', async () => {
    execFileSync('mkfifo', [join(host, 'pipe')]);
    const server = createServer();
    server.listen(join(host, 'socket'));
    await once(server, 'listening');
    try {
      for (const [, run] of operations) {
        expect(await codeOf(run('pipe'))).toBe('path_outside_workspace');
        expect(await codeOf(run('socket'))).toBe('path_outside_workspace');
      }
    } finally {
      server.close();
    }
  });

  test('names that are no UTF-8 are listed, archived and removed', async () => {
    const odd = Buffer.concat([Buffer.from(join(host, 'dir/')), Buffer.from([0xff, 0xfe])]);
    mkdirSync(join(host, 'dir'));
    writeFileSync(odd, 'odd');
    const { entries } = await workspace.list('.', { recursive: true, limit: 10 });
    expect(entries.map((entry) => entry.path)).toEqual(['dir', 'dir/\ufffd\ufffd']);
    await workspace.remove('dir', { recursive: true });
    expect(readdirSync(host)).toEqual(['.tmp']);
  });

  test('times far away harm nothing', async () => {
    await workspace.write('x', bytes('x'));
    utimesSync(join(host, 'x'), 253_402_300_799, 253_402_300_799);
    expect((await workspace.stat('x')).modifiedAt.getUTCFullYear()).toBeGreaterThan(2400);
  });
});

verifies(
  'tools.workspace-race-free',
  '2,000 writes while a directory is swapped for a link',
  async () => {
    mkdirSync(join(base, 'outside'));
    mkdirSync(join(host, 'swap'));
    const roomy = await Workspaces.open(root, { ...limits, maxFiles: 100_000 });
    const target = roomy.workspace({ id: 'sess_a', directory: 'dir-a' });
    const script = `
      const { renameSync, symlinkSync, unlinkSync, mkdirSync } = require('node:fs');
      process.chdir(${JSON.stringify(host)});
      process.send('ready');
      for (;;) {
        renameSync('swap', 'aside'); symlinkSync(${JSON.stringify(join(base, 'outside'))}, 'swap');
        unlinkSync('swap'); renameSync('aside', 'swap');
      }`;
    const swapper = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    const results: Record<string, number> = {};
    try {
      await once(swapper, 'message');
      for (let index = 0; index < 2_000; index += 1) {
        const code = await codeOf(target.write(`swap/${index}`, bytes('x')));
        results[code] = (results[code] ?? 0) + 1;
      }
    } finally {
      swapper.kill('SIGKILL');
      await once(swapper, 'exit');
    }
    expect(readdirSync(join(base, 'outside'))).toEqual([]);
    expect(results['ok']).toBeGreaterThan(0);
  },
  120_000,
);

test('one mark for all who share the directory, however many begin at once', async () => {
  const opened = await Promise.all(Array.from({ length: 20 }, () => Workspaces.open(root, limits)));
  const marks = new Set(await Promise.all(opened.map((each) => each.mark())));
  expect([...marks]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
  const elsewhere = await Workspaces.open(join(base, 'elsewhere'), limits);
  expect(marks).not.toContain(await elsewhere.mark());
  expect(await workspaces.directories()).toEqual(['dir-a']);
});
