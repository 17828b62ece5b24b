// Runs the probe once, as the worker runs a tool server at that level, and ends all of it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { kill } from 'node:process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../support/eventually.js';
import { findOnPath } from '../../apps/worker/sandbox/resolve-command.js';
import { findLauncher } from '../../apps/worker/sandbox/launcher-program.js';
import { readablePaths } from '../../apps/worker/sandbox/readable-paths.js';
import { sandboxWords } from '../../apps/worker/sandbox/sandbox-words.js';
import { ToolProcess } from '../../apps/worker/sandbox/tool-process.js';
import { isOpenToAll, mayKeepReading } from '../../apps/worker/sandbox/tool-user.js';
import type { Level, Network } from './attack.js';

export interface ProbeRun {
  level: Level;
  /** The program. */
  probe: string;
  /** Stand before every command, to be the worker's user: see scene.ts. */
  asWorker: readonly string[];
  /** Of the server, where it is another one than the worker's. */
  serverUser: number | undefined;
  workspace: string;
  /** What is not for tool servers. */
  kept: readonly string[];
  network: Network;
  proxyPort: number;
  maxFileBytes: number;
  /** The newest version of Landlock to use; absent: that of the kernel. */
  landlock?: number;
  attack: string;
  args: readonly string[];
  /** What is done while the server is stopped, which it is when the file is there. */
  pause?: { at: string; look(): Promise<void> };
  signal: AbortSignal;
}

export interface ProbeEnd {
  /** Null where a signal ended it. */
  status: number | null;
  stdout: string;
}

const grace = { stdinMs: 0, termMs: 300 };
const lateOutputMs = 300;
const killAfterMs = 3_000;
const mostOutput = 64 * 1024;
/** The probe uses a sixteenth of what it asks for: 384 MiB where it takes 6 GiB. */
const memoryBytes = 128 * 1024 ** 2;

export const runProbe = (run: ProbeRun): Promise<ProbeEnd> => (run.level === 'none' ? runPlainly(run) : runInside(run));

const environmentIn = (workspace: string) => ({
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: workspace,
  TMPDIR: join(workspace, '.tmp'),
});

async function runPlainly(run: ProbeRun): Promise<ProbeEnd> {
  const { probe, asWorker, workspace, attack, args, signal } = run;
  const [file = probe, ...words] = [...asWorker, probe, attack, ...args];
  const child = spawn(file, words, {
    cwd: workspace,
    env: environmentIn(workspace),
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
    signal,
    killSignal: 'SIGKILL',
  });
  const output = collect(child.stdout);
  const exited = once(child, 'exit') as Promise<[number | null]>;
  await pauseWhere(run, { exited, stop: () => child.kill('SIGSTOP'), resume: () => child.kill('SIGCONT') });
  const [status] = await exited;
  return { status, stdout: await output() };
}

async function runInside(run: ProbeRun): Promise<ProbeEnd> {
  const process = await ToolProcess.start({
    words: [...run.asWorker, ...wordsFor(run)],
    supervised: true,
    cwd: run.workspace,
    environment: environmentIn(run.workspace),
  });
  const output = collect(process.stdout);
  process.stderr.resume();
  const late = once(run.signal, 'abort').then(() => undefined);
  try {
    await pauseWhere(run, process);
    const exit = await Promise.race([process.exited, late]);
    return { status: exit?.code ?? null, stdout: await output() };
  } finally {
    // Where the server has stopped the launcher itself, nothing but this ends it.
    const timer = setTimeout(() => send(process.pid, 'SIGKILL'), killAfterMs);
    await process.end(grace).finally(() => clearTimeout(timer));
  }
}

interface Stoppable {
  exited: Promise<unknown>;
  stop(): unknown;
  resume(): unknown;
}

async function pauseWhere({ pause }: ProbeRun, server: Stoppable): Promise<void> {
  if (pause === undefined) return;
  let ended = false;
  void server.exited.then(() => (ended = true));
  await eventually(async () => ended || existsSync(pause.at));
  if (ended) return;
  await server.stop();
  await pause.look();
  server.resume();
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    kill(pid, signal);
  } catch {
    // It has ended.
  }
}

function wordsFor(run: ProbeRun): string[] {
  const { level, probe, workspace, serverUser, network } = run;
  const launcher = findLauncher();
  if (level === 'none' || launcher === undefined) throw new Error('the launcher is not there: run `npm run build`');
  const bubblewrap = findOnPath('bwrap', environmentIn(workspace).PATH);
  const { paths } = readablePaths([probe], [], run.kept);
  const closed = ![probe, dirname(workspace)].every(isOpenToAll);
  const words = sandboxWords(
    level,
    {
      file: probe,
      args: [run.attack, ...run.args],
      directory: workspace,
      readable: paths,
      writable: [],
      memoryBytes,
      network: network === 'proxy' ? { proxyPort: run.proxyPort } : network,
      ...(serverUser === undefined
        ? {}
        : {
            user: { uid: serverUser, gid: serverUser },
            keepReading: closed && level === 'confined' && mayKeepReading(),
          }),
    },
    { launcher, maxFileBytes: run.maxFileBytes, ...(bubblewrap === undefined ? {} : { bubblewrap }) },
  );
  if (run.landlock !== undefined) words.splice(1, 0, '--landlock-abi', String(run.landlock));
  return words;
}

/** What came until a while after the call: what was left behind may hold the stream open. */
function collect(stream: Readable): () => Promise<string> {
  let text = '';
  stream.setEncoding('utf8').on('data', (piece: string) => (text = `${text}${piece}`.slice(0, mostOutput)));
  const closed = once(stream, 'close').catch(() => undefined);
  return async () => {
    await Promise.race([closed, delay(lateOutputMs)]);
    stream.destroy();
    return text;
  };
}
