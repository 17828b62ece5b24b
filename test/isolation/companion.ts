// A process of the probe that stands beside an attack: it tells lines, and ends with its stdin.
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

export interface Companion {
  /** What it told when it was ready. */
  words: readonly string[];
  /** Whether it has told this, or tells it soon. */
  reports(line: string): Promise<boolean>;
  end(): Promise<void>;
}

const soonMs = 200;
const endMs = 2_000;

/** @throws Error when it ends before it is ready. */
export async function startCompanion(child: ChildProcessByStdio<Writable, Readable, null>): Promise<Companion> {
  const exited = once(child, 'exit').catch(() => undefined);
  child.stdin.on('error', () => undefined);
  const lines: string[] = [];
  const output = createInterface(child.stdout);
  output.on('line', (line) => lines.push(line));
  await Promise.race([once(output, 'line'), exited]);
  const [ready = '', ...words] = lines[0]?.split(' ') ?? [];
  if (ready !== 'ready') throw new Error('a process of the scene did not start');
  return {
    words,
    reports: async (line) => {
      const late = AbortSignal.timeout(soonMs);
      while (!lines.includes(line) && !late.aborted)
        await once(output, 'line', { signal: late }).catch(() => undefined);
      return lines.includes(line);
    },
    end: async () => {
      child.stdin.end();
      // One that was stopped by an attack reads nothing.
      child.kill('SIGCONT');
      const late = setTimeout(() => child.kill('SIGKILL'), endMs);
      await exited;
      clearTimeout(late);
    },
  };
}
