// Tests whether a level works here: launches a program that tries to break out and to do its work. Kernel versions and
// configuration are not enough: containers filter system calls, and security modules can be off.
import { spawn } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toolUser } from '#libs/workspace/own-directory.js';
import { temporaryDirectory } from '#libs/workspace/workspace-path.js';
import type { IsolationLevel } from './levels.js';
import { readablePaths } from './readable-paths.js';
import { sandboxWords, type SandboxPrograms } from './sandbox-words.js';
import { changesUser, isOpenToAll, mayKeepReading } from './tool-user.js';

const deadlineMs = 10_000;
const mostOutput = 4_096;

/** Run by Node inside: prints what went wrong, or `held`. */
const program = `
const fs = require('node:fs'), [outside, confined] = process.argv.slice(1);
const said = (step) => { try { step(); return 'done'; } catch (error) { return error.code; } };
const wrong = [];
const must = (name, step) => { const got = said(step); if (got !== 'done') wrong.push(name + ' failed (' + got + ')'); };
const mustNot = (name, step) => { if (said(step) === 'done') wrong.push(name + ' was possible'); };
must('writing its own files', () => { fs.writeFileSync('file', 'x'); fs.chmodSync('file', 0o640); fs.utimesSync('file', 1, 1); });
must('starting a process', () => {
  const { status, error } = require('node:child_process').spawnSync('/bin/sh', ['-c', 'exit 7']);
  if (status !== 7) throw error ?? Object.assign(new Error(), { code: 'status ' + status });
});
if (confined === 'yes') {
  mustNot('reading a file of others', () => fs.readFileSync(outside));
  mustNot('writing a file of others', () => fs.appendFileSync(outside, 'x'));
  mustNot('listing a directory of others', () => fs.readdirSync(require('node:path').dirname(outside)));
  mustNot('changing the mode of a file of others', () => fs.chmodSync(outside, 0o600));
  mustNot('signalling another process', () => process.kill(process.ppid, 0));
  mustNot('reading the memory of another process', () => fs.openSync('/proc/' + process.ppid + '/mem'));
}
const end = () => { process.stdout.write(wrong.length === 0 ? 'held' : wrong.join('; ')); };
if (confined !== 'yes') end();
else require('node:net').connect(9, '127.0.0.1').on('error', ({ code }) => {
  if (code !== 'EACCES' && code !== 'EPERM') wrong.push('using the network was possible');
  end();
});`;

/** Undefined if the level holds; otherwise what went wrong, for the operator. */
export async function tryLevel(
  level: Exclude<IsolationLevel, 'none'>,
  programs: SandboxPrograms,
): Promise<string | undefined> {
  let place: string;
  try {
    place = await mkdtemp(join(tmpdir(), 'signalbox-canary-'));
  } catch (error) {
    return `the directory for temporary files cannot be written (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`;
  }
  try {
    const directory = join(place, 'workspace');
    const outside = join(place, 'others', 'file');
    for (const path of [directory, join(directory, temporaryDirectory), join(place, 'others')]) await mkdir(path);
    await writeFile(outside, 'secret', { mode: 0o666 });
    const user = changesUser() ? { uid: toolUser, gid: toolUser } : undefined;
    if (user !== undefined) {
      await chmod(place, 0o711);
      for (const path of [directory, join(directory, temporaryDirectory), join(place, 'others'), outside]) {
        await chown(path, user.uid, user.gid);
      }
    }
    const { paths } = readablePaths([process.execPath], [], [place]);
    const words = sandboxWords(
      level,
      {
        file: process.execPath,
        args: ['-e', program, outside, level === 'process' ? 'no' : 'yes'],
        directory,
        readable: paths,
        writable: [],
        network: 'none',
        ...(user === undefined ? {} : { user }),
        keepReading: level === 'confined' && mayKeepReading() && !isOpenToAll(process.execPath),
      },
      programs,
    );
    const said = await run(words, directory);
    return said === 'held' ? undefined : said;
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** Its stdout, otherwise its stderr, on one line. */
function run(words: readonly string[], cwd: string): Promise<string> {
  const [file, ...args] = words as [string, ...string[]];
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      cwd,
      env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      detached: true,
    });
    const texts = { out: '', error: '' };
    child.stdout!.on('data', (chunk: Buffer) => (texts.out = `${texts.out}${String(chunk)}`.slice(0, mostOutput)));
    child.stderr!.on('data', (chunk: Buffer) => (texts.error = `${texts.error}${String(chunk)}`.slice(0, mostOutput)));
    // The launcher ends its tree when this pipe ends.
    const timer = setTimeout(() => child.stdio[3]!.destroy(), deadlineMs);
    child.once('error', (error) => {
      clearTimeout(timer);
      resolve(error.message);
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      const text = texts.out || texts.error.split('\n').find((line) => line.trim() !== '');
      resolve(text?.trim() ?? `it ended without output (${signal ?? `exit code ${code ?? 'unknown'}`})`);
    });
  });
}
