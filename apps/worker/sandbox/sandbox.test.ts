// Command servers as this worker starts them, confined: what they get, what is refused, and how they are stopped and ended.
// What each level stops is the matter of test/isolation.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import { isAlive } from '#libs/process/process-identity.js';
import { toolUser } from '#libs/workspace/own-directory.js';
import { findTestIsolation } from '../../../test/support/isolation.js';
import { fixture, hostile, openToolServers, type ToolServers } from '../../../test/support/tool-servers.js';
import { verifies } from '../../../test/verifies.js';
import { descendantsOf } from './descendants.js';
import { EgressProxy } from './egress-proxy.js';
import { findLauncher } from './launcher-program.js';
import { sandboxWords } from './sandbox-words.js';
import { ToolProcess } from './tool-process.js';
import { changesUser, mayKeepReading } from './tool-user.js';

const isolation = await findTestIsolation();
const confines = isolation.refusal('confined') === undefined;

const saidBy = async (servers: ToolServers, tool: string, args: object = {}, server = 'own') => {
  const { content } = await servers.call(server, tool, { args });
  return (content as { text: string }[])[0]!.text;
};
const ofStatus = (text: string, name: string) => new RegExp(`^${name}:?\\s+(\\S+)`, 'm').exec(text)?.[1];

describe.skipIf(!confines)('confined', () => {
  let place: string;
  beforeEach(() => {
    place = mkdtempSync(join(tmpdir(), 'sandbox-'));
  });
  afterEach(() => rmSync(place, { recursive: true, force: true }));

  verifies('tools.confined-by-default', "a session's files, and no other's", async () => {
    const opened = await openToolServers({ own: hostile() });
    try {
      const other = opened.workspaces.workspace({ id: 'sess_b', directory: 'ws_sess_b' });
      await other.write('secret.txt', Buffer.from('secret'));
      const ours = opened.workspaces.workspace({ id: 'sess_a', directory: 'ws_sess_a' });
      await ours.write('note.txt', Buffer.from('note'));
      const secret = join(opened.workspaces.hostPath('ws_sess_b'), 'secret.txt');
      expect(await saidBy(opened, 'read', { path: 'note.txt' })).toBe('note');
      expect(await saidBy(opened, 'read', { path: secret })).toBe('EACCES');
      expect(await saidBy(opened, 'read', { path: '/etc/shadow' })).toBe('EACCES');
      expect(await saidBy(opened, 'read', { path: `/proc/${process.pid}/environ` })).toBe('EACCES');
      expect(await saidBy(opened, 'signal', { pid: process.pid })).toBe('EPERM');
    } finally {
      await opened.close();
    }
  });

  verifies('tools.root-drops-its-rights', 'one user for all servers, who may do nothing else', async () => {
    if (!changesUser()) return;
    const each = hostile();
    const opened = await openToolServers({ own: each, all: { ...each, scope: 'shared' } });
    try {
      for (const server of ['own', 'all']) {
        const rights = await saidBy(opened, 'rights', {}, server);
        expect(ofStatus(rights, 'Uid')).toBe(String(toolUser));
        expect(ofStatus(rights, 'NoNewPrivs')).toBe('1');
        // Below a closed directory: CAP_DAC_READ_SEARCH alone, which Landlock bounds.
        const kept = ofStatus(rights, 'CapEff');
        expect(['0000000000000000', '0000000000000004']).toContain(kept);
      }
    } finally {
      await opened.close();
    }
  });

  verifies(
    'tools.root-drops-its-rights',
    'below a closed directory it reads its program, and nothing else',
    async () => {
      if (!changesUser() || !mayKeepReading()) return;
      chmodSync(place, 0o700);
      mkdirSync(join(place, 'app'));
      const program = join(place, 'app', 'server.mjs');
      copyFileSync(fixture('hostile'), program);
      const beside = join(place, 'secret.txt');
      writeFileSync(beside, 'secret', { mode: 0o600 });
      const opened = await openToolServers({ own: { command: 'node', args: [program] } });
      try {
        expect(ofStatus(await saidBy(opened, 'rights'), 'CapEff')).toBe('0000000000000004');
        expect(await saidBy(opened, 'read', { path: program })).toContain('misbehaves');
        expect(await saidBy(opened, 'read', { path: beside })).toBe('EACCES');
        expect(await saidBy(opened, 'read', { path: '/etc/shadow' })).toBe('EACCES');
      } finally {
        await opened.close();
      }
    },
  );

  verifies('tools.confined-by-default', 'paths that are configured as well; never our data', async () => {
    const data = join(place, 'data.txt');
    writeFileSync(data, 'data', { mode: 0o666 });
    chmodSync(place, 0o755);
    const opened = await openToolServers({
      own: hostile(),
      reading: { ...hostile(), paths: { read: [data] } },
      named: hostile(data),
      greedy: { ...hostile(), paths: { read: ['/'] } },
    });
    try {
      expect(await saidBy(opened, 'read', { path: data })).toBe('EACCES');
      expect(await saidBy(opened, 'read', { path: data }, 'reading')).toBe('data');
      expect(await saidBy(opened, 'read', { path: data }, 'named')).toBe('data');
      expect(opened.configured.refused).toContainEqual(
        expect.objectContaining({ name: 'greedy', reason: expect.stringContaining('data of Signalbox') }),
      );
    } finally {
      await opened.close();
    }
  });

  verifies('tools.network-of-commands', 'none, and what a list names through the proxy and nowhere else', async () => {
    const target = createServer((_, answer) => answer.end('here')).listen(0, '127.0.0.1');
    await once(target, 'listening');
    const { port } = target.address() as AddressInfo;
    const outcomes: string[] = [];
    const proxy = await EgressProxy.open({
      logger: silentLogger,
      onConnection: (server, outcome) => void outcomes.push(`${server}: ${outcome}`),
    });
    const opened = await openToolServers(
      { own: hostile(), listed: { ...hostile(), network: { allow: [`127.0.0.1:${port}`] } } },
      { egress: async () => proxy },
    );
    try {
      const url = `http://127.0.0.1:${port}/`;
      expect(await saidBy(opened, 'reach', { url })).toBe('none EACCES');
      // Whatever it connects to is the proxy, which does not take this for a request to it.
      expect(await saidBy(opened, 'reach', { url }, 'listed')).toBe('200 400');
      expect(await saidBy(opened, 'reach', { url: 'http://192.0.2.1/' }, 'listed')).toBe('403 400');
      expect(outcomes).toContain('listed: connected');
      expect(outcomes).toContain('listed: not_allowed');
    } finally {
      await opened.close();
      await proxy.close();
      target.close();
    }
  });

  const program = (text: string, more: readonly string[] = []) => {
    const directory = join(place, 'workspace');
    mkdirSync(join(directory, '.tmp'), { recursive: true });
    const [launcher, ...words] = sandboxWords(
      'confined',
      {
        file: '/bin/sh',
        args: ['-c', text],
        directory,
        readable: ['/usr', '/bin', '/lib', '/lib64'],
        writable: [],
        network: 'none',
      },
      { launcher: findLauncher()!, maxFileBytes: 2 ** 20 },
    );
    return {
      words: [launcher!, ...more, ...words],
      supervised: true,
      cwd: directory,
      environment: { PATH: '/usr/bin:/bin' },
    };
  };
  const output = async (started: ToolProcess) => {
    const chunks: Buffer[] = [];
    for await (const chunk of started.stdout) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  };
  const grace = { stdinMs: 0, termMs: 0 };

  test.each(['99', '3', '1'])(
    'modes and times of its own files only, signals to its own processes only (Landlock %s)',
    async (abi) => {
      const outside = join(place, 'outside');
      writeFileSync(outside, 'x', { mode: 0o666 });
      const before = statSync(outside);
      const started = await ToolProcess.start(
        program(
          `umask 022; echo x > f; chmod 640 f && stat -c %a f; touch -d @7 f && stat -c %Y f
         chmod 777 ${outside} 2>/dev/null; touch -d @7 ${outside} 2>/dev/null; ln -s ${outside} l; chmod 777 l 2>/dev/null
         sleep 9 & kill $! && echo own; kill -0 ${process.pid} 2>/dev/null && echo other; kill -0 $PPID 2>/dev/null && echo launcher
         truncate -s 0 ${outside} 2>/dev/null && echo truncated; exit 0`,
          ['--landlock-abi', abi],
        ),
      );
      expect(await output(started)).toBe('640\n7\nown\n');
      expect(await started.exited).toEqual({ code: 0, signal: null });
      expect(statSync(outside)).toMatchObject({ mode: before.mode, mtimeMs: before.mtimeMs });
    },
  );

  test('it ends as its program did, and takes along what that left', async () => {
    const ended = await ToolProcess.start(program('sleep 1000 & echo $!; exit 3'));
    const left = Number(await output(ended));
    expect(await ended.exited).toEqual({ code: 3, signal: null });
    expect(isAlive(left)).toBe(false);
    const killed = await ToolProcess.start(program('kill -SEGV $$'));
    expect(await killed.exited).toEqual({ code: null, signal: 'SIGSEGV' });
    const missing = await ToolProcess.start({ ...program(''), words: [...program('').words.slice(0, -3), '/nowhere'] });
    expect((await missing.exited).code).toBe(125);
  });

  test('it is stopped and resumed as a whole', async () => {
    const started = await ToolProcess.start(program('(while :; do echo x; sleep 0.01; done) & wait'));
    const states = async () => {
      const stats = (await descendantsOf(started.pid)).map((pid) => readFileSync(`/proc/${pid}/stat`, 'latin1'));
      return stats.map((text) => text.slice(text.lastIndexOf(')') + 2)[0]);
    };
    try {
      await once(started.stdout, 'data');
      await started.stop();
      const stopped = await states();
      expect(stopped.length).toBeGreaterThanOrEqual(2);
      // What has ended waits for its parent, which stands still. A parent may wait (D) for a child that stands still before its start.
      expect(stopped.filter((state) => !['T', 'Z', 'D'].includes(state!))).toEqual([]);
      started.resume();
      const [more] = (await once(started.stdout, 'data')) as [Buffer];
      expect(more.length).toBeGreaterThan(0);
    } finally {
      await started.end(grace);
    }
  });

  test('more tasks than it may have are refused to it, and nobody else notices', async () => {
    // The inner shell ends when it gets no more; what it started stays.
    const started = await ToolProcess.start(
      program(
        '(i=0; while [ $i -lt 600 ]; do sleep 1000 & i=$((i+1)); done; echo all) 2>/dev/null; echo end; read line',
      ),
    );
    try {
      started.stderr.resume();
      const [said] = (await once(started.stdout, 'data')) as [Buffer];
      expect(said.toString()).toBe('end\n');
      const tasks = await started.count();
      expect(tasks).toBeGreaterThan(500);
      expect(tasks).toBeLessThanOrEqual(512);
    } finally {
      await started.end(grace);
    }
    expect(await started.count()).toBe(0);
  });

  verifies('tools.nothing-left-alive', 'whoever held the launcher is killed', async () => {
    const { words, cwd } = program('trap "" TERM; (trap "" TERM HUP; setsid sleep 1000 & echo $!); sleep 1000');
    const holder = `const c = require('node:child_process').spawn(${JSON.stringify(words[0])}, ${JSON.stringify(words.slice(1))},
      { cwd: ${JSON.stringify(cwd)}, detached: true, stdio: ['pipe', 'pipe', 'ignore', 'pipe'] });
      c.stdout.on('data', (d) => process.stdout.write(d)); setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['-e', holder], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [said] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(said);
    expect(isAlive(pid)).toBe(true);
    parent.kill('SIGKILL');
    await expect.poll(() => isAlive(pid), { timeout: 5_000 }).toBe(false);
  });
});

test('a program that cannot be started says so', async () => {
  const start = { words: ['/nowhere/program'], supervised: false, cwd: '/', environment: {} };
  await expect(ToolProcess.start(start)).rejects.toMatchObject({
    code: 'tool_unavailable',
    message: expect.stringContaining('ENOENT'),
  });
});
