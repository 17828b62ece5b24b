// Test support: runs another program as a client (curl, python), with a deadline.
import { spawn, spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

export interface ProgramEnd {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  input?: string;
  timeoutMs?: number;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
}

/** A built command of ours (`dist/scripts/…`), not in the checkout: a developer's own `.env` must not change a test. */
export function runScript(name: string, args: readonly string[], options: RunOptions = {}): Promise<ProgramEnd> {
  const script = fileURLToPath(new URL(`../../dist/scripts/${name}.js`, import.meta.url));
  return runProgram(process.execPath, [script, ...args], { cwd: tmpdir(), ...options });
}

/** @throws Error if it has not ended after `timeoutMs` */
export function runProgram(
  program: string,
  args: readonly string[],
  { input = '', timeoutMs = 20_000, env = process.env, cwd }: RunOptions = {},
): Promise<ProgramEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'pipe', env, ...(cwd !== undefined && { cwd }) });
    const pieces: { stdout: Buffer[]; stderr: Buffer[] } = { stdout: [], stderr: [] };
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`${program} did not end within ${timeoutMs} ms`));
    }, timeoutMs);
    child.stdout.on('data', (bytes: Buffer) => pieces.stdout.push(bytes));
    child.stderr.on('data', (bytes: Buffer) => pieces.stderr.push(bytes));
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({
        code,
        stdout: Buffer.concat(pieces.stdout).toString('utf8'),
        stderr: Buffer.concat(pieces.stderr).toString('utf8'),
      });
    });
    // A program may end before it has read all its input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

export const canRun = (program: string, args: readonly string[]): boolean =>
  spawnSync(program, args, { stdio: 'ignore', timeout: 20_000 }).status === 0;
