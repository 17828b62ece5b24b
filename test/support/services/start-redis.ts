// A Redis of its own for a test, on a free port, without a disk unless it is asked for. It ends with the test process, also
// when that is killed.
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.js';
import { temporaryDirectory } from './start-process.js';

export interface TestRedis {
  url: string;
  port: number;
  /** For questions and settings of the test itself. */
  client: Redis;
  /** To the server's own process. */
  signal(signal: NodeJS.Signals): void;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** The same again on the same port, killed before where it runs: what was not on disk is gone. */
  restart(): Promise<void>;
  /** Ends it and removes what it wrote. */
  stop(): Promise<void>;
}

export interface RedisOptions {
  /** As in redis.conf: `{ appendonly: 'yes' }`. */
  settings?: Readonly<Record<string, string>>;
  port?: number;
  /** A sentinel, which watches what its settings name, instead of a store. */
  sentinel?: boolean;
}

/** Holds the server as long as its input is open, which is as long as we live. Says the server's id first. */
const holder = 'exec 3<&0; "$@" </dev/null 3<&- >/dev/null & echo $!; read _ <&3; kill -KILL $! 2>/dev/null; wait $!';

export async function startRedis(options: RedisOptions = {}): Promise<TestRedis> {
  const port = options.port ?? (await freePort());
  const directory = await temporaryDirectory();
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: directory.path,
    ...(options.sentinel === true ? {} : { save: '""', appendonly: 'no' }),
    ...options.settings,
  };
  // A sentinel writes into its file.
  const file = join(directory.path, 'redis.conf');
  await writeFile(
    file,
    Object.entries(settings)
      .map((pair) => pair.join(' '))
      .join('\n'),
  );
  const command = ['redis-server', file, ...(options.sentinel === true ? ['--sentinel'] : [])];
  const password = options.settings?.['requirepass'];
  const client = new Redis({
    host: '127.0.0.1',
    port,
    lazyConnect: true,
    retryStrategy: () => 20,
    ...(password === undefined ? {} : { password }),
  });
  client.on('error', () => undefined);
  let server = await hold(command);

  const end = async () => {
    server.holder.stdin!.end();
    await server.ended;
  };
  try {
    await client.ping();
  } catch (error) {
    client.disconnect();
    await end();
    await directory.remove();
    throw error;
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    client,
    signal: (signal) => process.kill(server.pid, signal),
    kill: end,
    async restart() {
      await end();
      server = await hold(command);
      await client.ping();
    },
    async stop() {
      client.disconnect();
      await end();
      await directory.remove();
    },
  };
}

async function hold(command: readonly string[]): Promise<{ holder: ChildProcess; pid: number; ended: Promise<void> }> {
  const child = spawn('sh', ['-c', holder, 'sh', ...command], { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const pid = await new Promise<number>((resolve, reject) => {
    child.stdout.once('data', (line: Buffer) => resolve(Number(line.toString())));
    void ended.then(() => reject(new Error('redis-server did not start')));
  });
  return { holder: child, pid, ended };
}
