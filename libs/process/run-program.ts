// Runs a short-lived program to its end: no shell, a given environment, bounded output, a deadline.
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';

export interface ProgramOptions {
  environment: Record<string, string>;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** An open one of ours, which it is given as its descriptor 3. */
  descriptor?: number | undefined;
  /** Written to its stdin, which is then closed. */
  input?: string;
}

export interface ProgramResult {
  /** 0 where it went well; null where a signal ended it or it could not be started. */
  status: number | null;
  /** stdout and stderr as they came; the end of it where there was much. */
  output: string;
}

const maxOutputCharacters = 64 * 1024;

/** Rejects only when the signal aborts; a program that cannot be started has status null and says why in its output. */
export function runProgram(command: readonly string[], options: ProgramOptions): Promise<ProgramResult> {
  const [file, ...args] = command;
  if (file === undefined) throw new TypeError('no program given');
  options.signal?.throwIfAborted();
  const deadline = AbortSignal.timeout(options.timeoutMs);
  const signal = options.signal === undefined ? deadline : AbortSignal.any([options.signal, deadline]);
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      cwd: '/',
      env: options.environment,
      stdio: ['pipe', 'pipe', 'pipe', ...(options.descriptor === undefined ? [] : [options.descriptor])],
      // In a group of its own, so that what it started can be ended with it.
      detached: true,
    }) as ChildProcessWithoutNullStreams;
    const end = () => endGroup(child.pid);
    signal.addEventListener('abort', end, { once: true });
    let output = '';
    const collect = (chunk: string) => {
      output = (output + chunk).slice(-maxOutputCharacters);
    };
    child.stdout.setEncoding('utf8').on('data', collect);
    child.stderr.setEncoding('utf8').on('data', collect);
    // A program that ends without reading its input is no failure of ours.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
    child.once('error', (error) => {
      collect(`${error.message}\n`);
      if (child.pid === undefined) settle(null);
    });
    // Not at the abort itself: until then something of it may still write.
    child.once('close', (status) => settle(status));

    function settle(status: number | null): void {
      signal.removeEventListener('abort', end);
      if (options.signal?.aborted === true) return reject(options.signal.reason as Error);
      if (deadline.aborted) collect(`no end within ${options.timeoutMs} ms\n`);
      resolve({ status: deadline.aborted ? null : status, output });
    }
  });
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
