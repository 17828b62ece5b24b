// Detects the levels of isolation on this machine by trying them, and starts servers at one. Never runs a server
// below the requested level.
import { spawn } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { toolUser } from '#libs/workspace/own-directory.js';
import { temporaryDirectory } from '#libs/workspace/workspace-path.js';
import { findLauncher, howToGetLauncher } from './launcher-program.js';
import { isolationLevels, levelNumber, type IsolationLevel } from './levels.js';
import { readablePaths } from './readable-paths.js';
import { findOnPath } from './resolve-command.js';
import { sandboxWords, type SandboxPrograms, type SandboxRequest } from './sandbox-words.js';
import { ToolProcess } from './tool-process.js';
import { changesUser, isOpenToAll, mayKeepReading, userOf } from './tool-user.js';

export interface IsolationOptions {
  path: string;
  maxFileBytes: number;
  allowUnsandboxed: boolean;
  /** Replaces the built launcher; for tests. */
  launcher?: string | undefined;
  logger: Logger;
}

/** The request, in the terms of the code that starts a server. */
export interface Launch extends Omit<SandboxRequest, 'user' | 'keepReading' | 'keepWriting'> {
  /** The complete environment: nothing is inherited. */
  environment: Readonly<Record<string, string>>;
}

const deadlineMs = 10_000;
const mostOutput = 4_096;

/** Runs in Node inside the sandbox: prints what went wrong, or `held`. */
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

export class Isolation {
  private constructor(
    private readonly programs: SandboxPrograms | undefined,
    private readonly missing: ReadonlyMap<IsolationLevel, string>,
    private readonly logger: Logger,
  ) {}

  /** Tries every level; takes about a tenth of a second. */
  static async find(options: IsolationOptions): Promise<Isolation> {
    const { path, maxFileBytes, logger, launcher = findLauncher() } = options;
    const missing = new Map<IsolationLevel, string>();
    if (!options.allowUnsandboxed) missing.set('none', 'isolation.allow_unsandboxed is not set');
    if (launcher === undefined) {
      const reason = `the launcher is missing: ${howToGetLauncher}`;
      for (const level of ['confined', 'namespace'] as const) missing.set(level, reason);
      return new Isolation(undefined, missing, logger);
    }
    const bubblewrap = findOnPath('bwrap', path);
    const programs = { launcher, maxFileBytes, ...(bubblewrap === undefined ? {} : { bubblewrap }) };
    const [confined, namespace] = await Promise.all([
      tryLevel('confined', programs),
      bubblewrap === undefined ? 'bubblewrap is not installed' : tryLevel('namespace', programs),
    ]);
    if (confined !== undefined) missing.set('confined', `this machine cannot confine processes: ${confined}`);
    if (confined !== undefined || namespace !== undefined) missing.set('namespace', namespace ?? confined!);
    // A launcher that cannot start a process (other processor or C library) is treated as missing.
    const works = confined === undefined || (await tryLevel('process', programs)) === undefined;
    return new Isolation(works ? programs : undefined, missing, logger);
  }

  get strongest(): IsolationLevel {
    return isolationLevels.findLast((level) => !this.missing.has(level)) ?? 'process';
  }

  /** Why nothing can run at the level here; undefined if it can. */
  refusal(level: IsolationLevel): string | undefined {
    const reason = this.missing.get(level);
    if (reason === undefined) return undefined;
    const other = this.strongest;
    const weaker = levelNumber(other) < levelNumber(level) ? `; "isolation: ${other}" would run it with less` : '';
    return `it requires isolation '${level}', which this worker does not have: ${reason}${weaker}`;
  }

  /** Whether a server at the level runs as a user of its own, with access only to what all users may access. */
  needsOpenPaths(level: IsolationLevel): boolean {
    return changesUser() && level !== 'none' && !(level === 'confined' && mayKeepReading());
  }

  /** @throws AppError tool_unavailable, isolation_too_low */
  async start(level: IsolationLevel, launch: Launch): Promise<ToolProcess> {
    const refusal = this.refusal(level);
    if (refusal !== undefined) throw new AppError('isolation_too_low', `The tool server is refused: ${refusal}`);
    const { environment } = launch;
    const directory = await realpath(launch.directory);
    const user = level === 'none' ? undefined : await userOf(directory);
    const { programs } = this;
    const own = user === undefined ? {} : { user };
    const base = { cwd: directory, environment };
    if (programs === undefined || level === 'none') {
      return ToolProcess.start({ ...base, ...own, words: [launch.file, ...launch.args], supervised: false });
    }
    const isConfined = level === 'confined' && user !== undefined;
    const named = [launch.file, ...launch.readable, ...launch.writable, dirname(directory)];
    const request = {
      ...launch,
      ...own,
      directory,
      keepReading: isConfined && mayKeepReading() && !named.every(isOpenToAll),
      // Paths that the operator names belong to root or a person, not to the server's user.
      keepWriting: isConfined && launch.writable.length > 0,
    };
    return ToolProcess.start({ ...base, words: sandboxWords(level, request, programs), supervised: true });
  }

  /** Logs why the wanted level is unavailable, if it is. */
  report(wanted: IsolationLevel): void {
    const reason = this.missing.get(wanted);
    if (reason === undefined) return;
    this.logger.warn({ metadata: { level: wanted } }, `isolation '${wanted}' is not available here: ${reason}`);
  }
}

/**
 * Launches a program that tries to break out and to do its work: kernel versions and configuration are not enough, since
 * containers filter system calls, and security modules can be off. Undefined if the level holds; otherwise what went wrong,
 * for the operator.
 */
async function tryLevel(
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

/** Returns the program's stdout, otherwise its stderr, on one line. */
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
