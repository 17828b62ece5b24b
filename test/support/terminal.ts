// A shell into which a test types what a reader of the documentation would, and reads what is printed.
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const endOfCommand = 'end-of-command';

export interface TerminalOptions {
  directory: string;
  /** The whole of it. */
  environment: Record<string, string> & { HOME: string };
  /** What the documentation writes, and what stands for it here: in commands, and back in what they print. */
  names: readonly (readonly [shown: string, here: string])[];
  timeoutMs?: number;
}

export interface Terminal {
  /** Resolves to what was printed. Rejects if anything failed or was printed to standard error. */
  run(command: string): Promise<string>;
  close(): void;
}

export async function openTerminal(options: TerminalOptions): Promise<Terminal> {
  const { directory, environment, names, timeoutMs = 60_000 } = options;
  // Silences curl's progress, which it shows only when its output is not a terminal, unlike for the reader.
  await writeFile(join(environment.HOME, '.curlrc'), 'silent\nshow-error\n');
  const shell = spawn('sh', ['-eu'], {
    cwd: directory,
    env: environment,
    stdio: 'pipe',
    detached: true,
  });
  const said = { stdout: '', stderr: '' };
  let wake: () => void = () => undefined;
  for (const name of ['stdout', 'stderr'] as const) {
    shell[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
      wake();
    });
  }
  shell.once('close', () => wake());
  const over = () => shell.exitCode !== null || shell.signalCode !== null;
  // A shell that a command has ended takes no more.
  shell.stdin.on('error', () => undefined);

  return {
    run: async (command) => {
      const typed = names.reduce((text, [shown, here]) => text.replaceAll(shown, here), command.trimEnd());
      shell.stdin.write(`${typed}\necho ${endOfCommand}; echo ${endOfCommand} >&2\n`);
      const deadline = AbortSignal.timeout(timeoutMs);
      deadline.addEventListener('abort', () => wake());
      const end = `${endOfCommand}\n`;
      const ended = () => said.stdout.endsWith(end) && said.stderr.endsWith(end);
      while (!ended() && !over() && !deadline.aborted) await new Promise<void>((resolve) => (wake = resolve));
      const printed = said.stdout.slice(0, -end.length);
      if (!ended() || said.stderr !== end) throw new Error(`${command}${said.stdout}${said.stderr}`);
      Object.assign(said, { stdout: '', stderr: '' });
      return names
        .reduce((text, [shown, here]) => text.replaceAll(here, shown), printed)
        .replaceAll('\r', '')
        .trimEnd();
    },
    close: () => {
      try {
        // With all that it started.
        process.kill(-shell.pid!, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    },
  };
}
