// Runs a short-lived program to its end: no shell, an explicit environment, bounded output, and a deadline.
import { spawn } from 'node:child_process';

export interface ProgramOptions {
  environment: Record<string, string>;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Written to stdin, which is then closed. */
  input?: string;
}

export interface ProgramResult {
  /** 0 on success; null if a signal ended it or it could not be started. */
  status: number | null;
  /** stdout and stderr in order of arrival; only the end if there was too much. */
  output: string;
}

const maxOutputCharacters = 64 * 1024;

/** Rejects only if the signal aborts. A program that cannot be started has status null and the reason in its output. */
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
      // In a process group of its own, so that its children can be ended too.
      detached: true,
    });
    const end = () => endGroup(child.pid);
    signal.addEventListener('abort', end, { once: true });
    let output = '';
    const collect = (chunk: string) => {
      output = (output + chunk).slice(-maxOutputCharacters);
    };
    child.stdout.setEncoding('utf8').on('data', collect);
    child.stderr.setEncoding('utf8').on('data', collect);
    // A program may end without reading its input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
    child.once('error', (error) => {
      collect(`${error.message}\n`);
      if (child.pid === undefined) settle(null);
    });
    // Settles on close rather than on abort, because the program may still write until then.
    child.once('close', (status) => settle(status));

    function settle(status: number | null): void {
      signal.removeEventListener('abort', end);
      if (options.signal?.aborted === true) return reject(options.signal.reason as Error);
      if (deadline.aborted) collect(`not finished within ${options.timeoutMs} ms\n`);
      resolve({ status: deadline.aborted ? null : status, output });
    }
  });
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The program has already ended.
  }
}
