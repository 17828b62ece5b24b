// Runs `npm start`: the built supervisor with its own data directory, and its child processes.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePort } from './services/free-port.js';
import { temporaryDirectory } from './services/start-process.js';

/** For sources; in `dist`, `scripts/start.js` is in the sibling directory. */
const built = fileURLToPath(new URL('../../dist/scripts/start.js', import.meta.url));

export type Part = 'gateway' | 'worker' | 'postgres';

export interface WholeStart {
  url: string;
  dataDir: string;
  /** Current process ids of a part. */
  pids(part: Part): number[];
  /** All running processes that were started for this data directory. */
  leftovers(): number[];
  /** Signals the supervisor. */
  kill(signal: NodeJS.Signals): void;
  ended: Promise<number | null>;
  output: string[];
  remove(): Promise<void>;
}

/** With a `cwd` the configuration is what is there, and the data too, as for a reader; nothing of it is removed. */
export async function startWhole(
  environment: Record<string, string>,
  program = built,
  cwd?: string,
): Promise<WholeStart> {
  // A start on the data of an earlier one uses its directory, and keeps it.
  const given = cwd ?? environment['DATA_DIR'];
  const directory = given === undefined ? await temporaryDirectory() : { path: given, remove: async () => undefined };
  const [port, workerPort] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, [program], {
    cwd: directory.path,
    env: {
      PATH: process.env['PATH'],
      ...(cwd === undefined && { DATA_DIR: directory.path }),
      PORT: String(port),
      SERVER_WORKER_PORT: String(workerPort),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes: Buffer) => output.push(bytes.toString()));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));

  // All child processes have the data directory in their command line or environment.
  const ours = () =>
    processes().filter(
      ({ pid, command, variables }) =>
        pid !== child.pid && (command.includes(directory.path) || variables.includes(`DATA_DIR=${directory.path}`)),
    );
  const is: Record<Part, (command: string) => boolean> = {
    gateway: (command) => command.includes('apps/gateway/main.js'),
    worker: (command) => command.includes('apps/worker/main.js'),
    postgres: (command) => /^\S*bin\/postgres\0-D/.test(command),
  };
  const ready = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`npm start was not ready: ${output.join('')}`)), 40_000);
    child.stdout.on('data', () => {
      if (!output.join('').includes('Signalbox is ready')) return;
      clearTimeout(timer);
      resolve();
    });
    void ended.then(() => reject(new Error(`npm start ended: ${output.join('')}`)));
  });
  ready.catch(() => child.kill('SIGKILL'));
  await ready;
  return {
    url: `http://127.0.0.1:${port}`,
    dataDir: directory.path,
    pids: (part) =>
      ours()
        .filter(({ command }) => is[part](command))
        .map(({ pid }) => pid),
    leftovers: () => ours().map(({ pid }) => pid),
    kill: (signal) => void child.kill(signal),
    ended,
    output,
    remove: () => directory.remove(),
  };
}

function processes(): { pid: number; command: string; variables: string[] }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const read = (file: string) => readFileSync(`/proc/${name}/${file}`, 'utf8');
        return [{ pid: Number(name), command: read('cmdline'), variables: read('environ').split('\0') }];
      } catch {
        // It ended during the check.
        return [];
      }
    });
}
