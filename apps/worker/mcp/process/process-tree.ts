// One tool server as a tree of processes: started in a group of its own, marked and without a shell, ended whole. Its
// descendants are found by the mark, by their session and by descent. Limit: one that sheds all of these on purpose while
// nobody looks is not found; that takes a stronger isolation.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '#libs/schemas/errors.js';
import { giveWay } from './give-way.js';
import type { RunAs } from './change-user.js';
import { readProcesses, treeOf, type ProcessEntry } from './process-table.js';
import { giveMarkBack, markOption, takeMark, treeVariable } from './tree-mark.js';

export interface ProcessLimits {
  /** The program that sets them, and its options; empty where they cannot be set. */
  prefix: readonly string[];
  /** Whether it may set the one that carries the mark. */
  carryMark: boolean;
}

export interface Launch {
  file: string;
  args: readonly string[];
  cwd: string;
  /** The whole of it: nothing is inherited. */
  environment: Readonly<Record<string, string>>;
  limits: ProcessLimits;
  /** Absent: as the worker's own user. */
  runAs?: RunAs;
}

export interface EndGrace {
  /** From the end of its stdin to SIGTERM, ms. */
  stdinMs: number;
  /** From SIGTERM to SIGKILL, ms. */
  termMs: number;
}

export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

const killDeadlineMs = 5_000;
const lookEveryMs = 25;

export class ProcessTree {
  /** Of the first process; what it started may live on until `end`. */
  readonly exited: Promise<ProcessExit>;
  /** Everything that was seen to belong to it: pid → start. */
  readonly #known = new Map<number, string>();
  #hasExited = false;
  #ended?: Promise<void>;

  private constructor(
    private readonly child: ChildProcessWithoutNullStreams,
    private readonly mark: string,
    private readonly grace: EndGrace,
  ) {
    this.exited = once(child, 'exit').then(([code, signal]) => {
      this.#hasExited = true;
      return { code: code as number | null, signal: signal as NodeJS.Signals | null };
    });
  }

  /** @throws AppError tool_unavailable */
  static async start(launch: Launch, grace: EndGrace): Promise<ProcessTree> {
    const mark = takeMark();
    const child = spawnServer(launch, mark);
    if (child.pid !== undefined) giveWay(child.pid);
    // Their ends are told by the exit; a pipe that breaks before it is no news.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => undefined);
    const tree = new ProcessTree(child, mark, grace);
    tree.exited.catch(() => undefined);
    try {
      await once(child, 'spawn');
    } catch (error) {
      giveMarkBack(mark);
      throw notStarted(error);
    }
    child.on('error', () => undefined);
    return tree;
  }

  get pid(): number {
    return this.child.pid!;
  }
  get stdin() {
    return this.child.stdin;
  }
  get stdout() {
    return this.child.stdout;
  }
  get stderr() {
    return this.child.stderr;
  }

  /**
   * stdin's end, then SIGTERM, then SIGKILL, each for the whole tree; resolves when nothing of it is left.
   * @throws Error when something survives SIGKILL for five seconds.
   */
  end(): Promise<void> {
    this.#ended ??= this.#end().then(() => giveMarkBack(this.mark));
    return this.#ended;
  }

  async #end(): Promise<void> {
    await this.#living();
    this.child.stdin.end();
    try {
      if (await this.#goneWithin(this.grace.stdinMs)) return;
      await this.#signal('SIGTERM');
      if (await this.#goneWithin(this.grace.termMs)) return;
      const deadline = performance.now() + killDeadlineMs;
      // What forks faster than it is looked for is found by the next look.
      while (await this.#signal('SIGKILL')) {
        if (performance.now() > deadline) throw new Error('a process of a tool server cannot be ended');
        await delay(lookEveryMs);
      }
    } finally {
      for (const stream of [this.child.stdin, this.child.stdout, this.child.stderr]) stream.destroy();
    }
  }

  async #goneWithin(ms: number): Promise<boolean> {
    const deadline = performance.now() + ms;
    const stop = new AbortController();
    if (!this.#hasExited) {
      await Promise.race([this.exited, delay(ms, undefined, { signal: stop.signal }).catch(() => undefined)]);
      stop.abort();
    }
    // No event tells the end of a grandchild.
    while (!this.#hasExited || (await this.#living()).length > 0) {
      if (performance.now() > deadline) return false;
      await delay(Math.min(lookEveryMs, ms));
    }
    return true;
  }

  /** What is left of the tree now. */
  async #living(): Promise<ProcessEntry[]> {
    const entries = await readProcesses();
    const living = treeOf(
      entries,
      ({ pid, session, startedAt, marks }) =>
        marks.includes(this.mark) || session === this.pid || this.#known.get(pid) === startedAt,
    );
    for (const { pid, startedAt } of living) this.#known.set(pid, startedAt);
    return living;
  }

  /** False when there was nothing left to signal. */
  async #signal(signal: NodeJS.Signals): Promise<boolean> {
    // The group as well: it is all there is to go by without /proc.
    if (!this.#hasExited) send(-this.pid, signal);
    const living = await this.#living();
    for (const { pid } of living) send(pid, signal);
    return living.length > 0 || !this.#hasExited;
  }
}

function spawnServer(launch: Launch, mark: string): ChildProcessWithoutNullStreams {
  const { limits, runAs } = launch;
  // Limits first: root may set them whatever they are.
  const words = [...limitWords(limits, mark, runAs), ...(runAs?.words ?? []), launch.file, ...launch.args];
  const [file = launch.file, ...args] = words;
  try {
    return spawn(file, args, {
      cwd: launch.cwd,
      env: { ...launch.environment, [treeVariable]: mark },
      detached: true,
      shell: false,
      windowsHide: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  } catch (error) {
    giveMarkBack(mark);
    throw notStarted(error);
  }
}

function limitWords({ prefix, carryMark }: ProcessLimits, mark: string, runAs: RunAs | undefined): string[] {
  if (prefix.length === 0) return [];
  const processes = runAs?.maxProcesses === undefined ? [] : [`--nproc=${runAs.maxProcesses}`];
  return [...prefix, ...processes, ...(carryMark ? [markOption(mark)] : [])];
}

function notStarted(error: unknown): AppError {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  return new AppError('tool_unavailable', `The tool server could not be started (${code})`, { cause: error });
}

/** Errors mean that it has gone, or is not ours to end. */
export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // As said above.
  }
}
