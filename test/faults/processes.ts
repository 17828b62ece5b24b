// Processes on this machine: our programs, and what they leave behind.
import { execFileSync, spawn, type ChildProcessByStdio } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Program {
  process: ChildProcessByStdio<Writable, Readable, Readable>;
  /** Everything that it has written so far. */
  lines: string[];
  /** Resolves with the first matching line, past or future; rejects if the program ends without one. */
  line(pattern: RegExp): Promise<string>;
  /** Resolves with the exit status. */
  ended: Promise<number | null>;
}

export function run(command: readonly string[], environment: Record<string, string> = {}): Program {
  const [file = '', ...args] = command;
  // In its own process group, so that a test can press Ctrl-C: the terminal signals the group.
  const child = spawn(file, args, {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: 'pipe',
    detached: true,
  });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  let over = false;
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      for (const look of waiting) look();
    });
  }
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (status) => {
      over = true;
      for (const look of waiting) look();
      resolve(status);
    });
  });
  const line = (pattern: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const found = lines.find((text) => pattern.test(text));
        if (found === undefined && !over) return;
        waiting.delete(look);
        if (found !== undefined) resolve(found);
        else reject(new Error(`ended without ${String(pattern)}:\n${lines.join('\n')}`));
      };
      waiting.add(look);
      look();
    });
  return { process: child, lines, line, ended };
}

/** Signals the whole foreground group, as a terminal does on Ctrl-C. */
export function pressControlC({ process: child }: Program): void {
  process.kill(-child.pid!, 'SIGINT');
}

/** Ends programs that a test left running, with their groups, and waits for them. */
export async function killAll(programs: Program[]): Promise<void> {
  for (const { process: child, ended } of programs) {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // The whole group has ended.
    }
    await ended;
  }
}

/** Command lines of running processes that contain the text. */
export function processesWith(text: string): string[] {
  return execFileSync('ps', ['-eo', 'pid=,stat=,args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(text) && !/^\s*\d+\s+Z/.test(line) && !line.includes('ps -eo'));
}

/** Polls until no such process is left (no event says so), or returns the rest at the deadline. */
export async function untilNoneWith(text: string, deadlineMs = 20_000): Promise<string[]> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const left = processesWith(text);
    if (left.length === 0 || performance.now() > deadline) return left;
    await delay(50);
  }
}
