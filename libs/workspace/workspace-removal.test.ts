import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestWorkspace, type TestWorkspace } from '../../test/support/test-workspace.js';
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

describe('removal', () => {
  verifies('tools.workspace-removal-complete', 'closed directories, 600 levels, links', async () => {
    mkdirSync(join(base, 'outside'));
    writeFileSync(join(base, 'outside', 'kept'), 'kept');
    execFileSync('sh', ['-c', 'i=0; while [ $i -lt 600 ]; do mkdir d && cd d; : > f; i=$((i+1)); done'], { cwd: host });
    symlinkSync(join(base, 'outside'), join(host, 'link'));
    mkdirSync(join(host, 'closed/inner'), { recursive: true });
    writeFileSync(join(host, 'closed/inner/x'), 'x');
    chmodSync(join(host, 'closed/inner'), 0);
    chmodSync(join(host, 'closed'), 0);
    await workspaces.remove('dir-a');
    expect(readdirSync(root)).toEqual([]);
    expect(readdirSync(join(base, 'outside'))).toEqual(['kept']);
  });

  verifies(
    'tools.workspace-removal-complete',
    'a directory swapped for a link meanwhile',
    async () => {
      mkdirSync(join(base, 'outside'));
      const script = `
        const { renameSync, symlinkSync, unlinkSync, mkdirSync } = require('node:fs');
        process.send('ready');
        for (;;) for (let i = 0; i < 20; i++) {
          const d = ${JSON.stringify(root)} + '/w' + i + '/swap';
          try { renameSync(d, d + 'x'); symlinkSync(${JSON.stringify(join(base, 'outside'))}, d); } catch {}
          try { unlinkSync(d); renameSync(d + 'x', d); } catch {}
        }`;
      for (let index = 0; index < 20; index += 1) {
        mkdirSync(join(root, `w${index}/swap/in`), { recursive: true });
        writeFileSync(join(root, `w${index}/swap/in/f`), 'x');
      }
      writeFileSync(join(base, 'outside', 'kept'), 'kept');
      const swapper = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
      try {
        await once(swapper, 'message');
        for (let index = 0; index < 20; index += 1) await workspaces.remove(`w${index}`);
      } finally {
        swapper.kill('SIGKILL');
        await once(swapper, 'exit');
      }
      expect(readdirSync(join(base, 'outside'))).toEqual(['kept']);
      expect(readdirSync(root)).toEqual(['dir-a']);
    },
    60_000,
  );
});

describe.skipIf(process.getuid?.() !== 0)('as root', () => {
  test('what is written belongs to the owner of the workspace', async () => {
    execFileSync('chown', ['-R', '65534:65534', host]);
    await workspace.write('sub/x', bytes('x'), { createDirectories: true });
    expect(execFileSync('stat', ['-c', '%u', join(host, 'sub/x'), join(host, 'sub')]).toString()).toBe(
      '65534\n65534\n',
    );
  });
});
