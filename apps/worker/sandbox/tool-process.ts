// A tool server as a process tree under the launcher: started without a shell, stopped, resumed, ended as a whole.
// The launcher exits like the program, and after its exit no process of the tree is left. Without the launcher (level
// `process` on systems that have none) only the process group can be ended.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex, Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '#libs/schemas/errors.js';
import { descendantsOf } from './descendants.js';
import type { ToolUser } from './tool-user.js';

export interface ToolProcessStart {
  /** The launcher with its options, or the program itself. */
  words: readonly string[];
  supervised: boolean;
  cwd: string;
  /** The complete environment: nothing is inherited. */
  environment: Readonly<Record<string, string>>;
  /** The user of a process without a launcher, which would change the user itself. */
  user?: ToolUser;
}

export interface EndGrace {
  /** From the end of stdin to SIGTERM, ms. */
  stdinMs: number;
  /** From SIGTERM to SIGKILL, ms. */
  termMs: number;
}

export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Grants a tree more names in its workspace. The system call that would make a name waits for the answer. */
export interface NameGrants {
  readonly isAsked: boolean;
  asked(signal: AbortSignal): Promise<void>;
  /** Answers with a number of names, at least 1. */
  grant(names: number): void;
}

/** Commands for the launcher on descriptor 3; the end of that pipe also means `kill`. */
type Command = 'term' | 'stop' | 'continue' | 'kill';

const killDeadlineMs = 5_000;
const stopDeadlineMs = 2_000;

const running = new Set<ToolProcess>();

/** Processes of all tool servers of this worker, without their launchers. */
export async function countToolProcesses(): Promise<number> {
  const counts = await Promise.all([...running].map((each) => each.count()));
  return counts.reduce((sum, count) => sum + count, 0);
}

export class ToolProcess {
  /** The exit of the program; with the launcher, no process of the tree is left then. */
  readonly exited: Promise<ProcessExit>;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the tree holds more memory than allowed: its processes are stopped, and must be ended. */
  readonly outOfMemory: Promise<void>;
  /** Absent without the launcher. */
  readonly names: NameGrants | undefined;
  private readonly control: Duplex | undefined;
  private readonly questions: Duplex | undefined;
  private ended?: Promise<void>;

  private constructor(private readonly child: ChildProcess) {
    this.stdin = child.stdin!;
    this.stdout = child.stdout!;
    this.stderr = child.stderr!;
    this.control = child.stdio[3] as Duplex | undefined;
    this.questions = child.stdio[4] as Duplex | undefined;
    this.outOfMemory = new Promise((resolve) => {
      this.control?.on('data', (received: Buffer) => {
        if (received.includes('m')) resolve();
      });
    });
    this.names = this.questions && new AskedNames(this.questions);
    running.add(this);
    this.exited = once(child, 'exit').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
    }));
    this.exited.catch(() => undefined);
    child.once('exit', () => this.forget());
    child.once('error', () => this.forget());
  }

  /** @throws AppError tool_unavailable */
  static async start(start: ToolProcessStart): Promise<ToolProcess> {
    const process = new ToolProcess(spawnProgram(start));
    // The exit reports the end; a pipe that breaks earlier can be ignored.
    for (const stream of process.streams()) stream.on('error', () => undefined);
    try {
      await once(process.child, 'spawn');
    } catch (error) {
      throw notStarted(error);
    }
    process.child.on('error', () => undefined);
    return process;
  }

  get pid(): number {
    return this.child.pid!;
  }

  async count(): Promise<number> {
    const below = await descendantsOf(this.pid);
    return this.control === undefined ? below.length + 1 : below.length;
  }

  /** Resolves when nothing of the tree runs. @throws Error if the launcher does not report it in time. */
  async stop(): Promise<void> {
    if (this.control === undefined) return this.command('stop');
    const answered = heard(this.control, 's', AbortSignal.timeout(stopDeadlineMs));
    this.command('stop');
    await Promise.race([answered, this.exited]);
  }

  resume(): void {
    this.command('continue');
  }

  /**
   * Ends stdin, then sends SIGTERM, then SIGKILL, each to the whole tree; resolves when it has ended.
   * @throws Error if something survives SIGKILL for five seconds.
   */
  end(grace: EndGrace): Promise<void> {
    this.ended ??= this.endTree(grace);
    return this.ended;
  }

  private async endTree({ stdinMs, termMs }: EndGrace): Promise<void> {
    this.stdin.end();
    try {
      if (await this.exitsWithin(stdinMs)) return;
      this.command('term');
      if (await this.exitsWithin(termMs)) return;
      this.command('kill');
      if (!(await this.exitsWithin(killDeadlineMs))) throw new Error('a process of a tool server cannot be ended');
    } finally {
      for (const stream of this.streams()) stream.destroy();
    }
  }

  private async exitsWithin(ms: number): Promise<boolean> {
    const stop = new AbortController();
    const late = delay(ms, false, { signal: stop.signal }).catch(() => false);
    const gone = await Promise.race([this.exited.then(() => true), late]);
    stop.abort();
    return gone;
  }

  private command(command: Command): void {
    if (this.control !== undefined) {
      // The end of the pipe also means `kill`, so the command cannot be lost. An unconfined server may have stopped the launcher.
      if (command === 'kill') {
        send(this.pid, 'SIGCONT');
        this.control.end('k');
      } else if (this.control.writable) this.control.write(command[0]!);
      return;
    }
    const signals = { term: 'SIGTERM', stop: 'SIGSTOP', continue: 'SIGCONT', kill: 'SIGKILL' } as const;
    send(-this.pid, signals[command]);
  }

  private streams(): (Readable | Writable)[] {
    const more = [this.control, this.questions].filter((stream) => stream !== undefined);
    return [this.stdin, this.stdout, this.stderr, ...more];
  }

  private forget(): void {
    running.delete(this);
  }
}

/** A question is one byte, an answer one line: see launcher/notify.c. */
class AskedNames implements NameGrants {
  isAsked = false;
  private wake: (() => void) | undefined;

  constructor(private readonly stream: Duplex) {
    stream.on('data', () => {
      this.isAsked = true;
      this.wake?.();
    });
  }

  asked(signal: AbortSignal): Promise<void> {
    if (this.isAsked || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.wake = done;
      signal.addEventListener('abort', done);
    });
  }

  grant(names: number): void {
    this.isAsked = false;
    if (this.stream.writable) this.stream.write(`${names}\n`);
  }
}

/** Resolves when the letter comes. @throws when the signal aborts */
async function heard(stream: Duplex, letter: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const [received] = (await once(stream, 'data', { signal })) as [Buffer];
    if (received.includes(letter)) return;
  }
}

function spawnProgram({ words, supervised, cwd, environment, user }: ToolProcessStart): ChildProcess {
  const [file, ...args] = words;
  if (file === undefined) throw new TypeError('no program given');
  try {
    return spawn(file, args, {
      cwd,
      env: environment,
      detached: true,
      shell: false,
      windowsHide: true,
      stdio: supervised ? Array<'pipe'>(5).fill('pipe') : ['pipe', 'pipe', 'pipe'],
      ...user,
    });
  } catch (error) {
    throw notStarted(error);
  }
}

function notStarted(error: unknown): AppError {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  return new AppError('tool_unavailable', `The tool server could not be started (${code})`, { cause: error });
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended, or we may not signal it.
  }
}
