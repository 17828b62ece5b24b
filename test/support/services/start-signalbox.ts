// A whole Signalbox for a test: a database of its own, any number of gateways and workers, an upstream that follows a
// script. Everything is real but the model. In the project `redis` it has a Redis of its own too.
import pg from 'pg';
import { inject } from 'vitest';
import { createMigratedDatabase } from './test-database.js';
import { type ScriptedUpstream, startScriptedUpstream, type Script } from '../scripted-upstream.js';
import { startRedis, type TestRedis } from './start-redis.js';
import { startHere, type StartedHere } from './start-here.js';
import { startProcess, temporaryDirectory } from './start-process.js';
import type { ProcessOptions, Started, StartedProcess } from './start-process.js';

type ProcessLimits = Pick<ProcessOptions, 'openFiles'>;

export interface Signalbox<Part extends Started = StartedProcess> {
  url: string;
  gateways: Part[];
  workers: Part[];
  databaseUrl: string;
  /** Of the project `redis` only. */
  redis: TestRedis | undefined;
  workspacesDir: string;
  /** The script's upstream; its models are asked for as `scripted/<any name>`. */
  upstream: ScriptedUpstream;
  /** Of the database, by a connection of its own. */
  rows<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  startGateway(environment?: Record<string, string>, limits?: ProcessLimits): Promise<Part>;
  startWorker(environment?: Record<string, string>, limits?: ProcessLimits): Promise<Part>;
  close(): Promise<void>;
}

export type SignalboxHere = Signalbox<StartedHere>;

export interface SignalboxOptions {
  script?: Script;
  gateways?: number;
  workers?: number;
  environment?: Record<string, string>;
  /** False: no provider is configured, the offline model answers. */
  scripted?: boolean;
}

/** With processes of its own. */
export const startSignalbox = (options: SignalboxOptions = {}): Promise<Signalbox> =>
  start(options, { start: startProcess, end: killAll });

/**
 * In the process of the test, which takes a fraction of the time: for tests of what is answered and stored, in which nothing is killed
 * and no configuration is read again.
 */
export const startSignalboxHere = (options: SignalboxOptions = {}): Promise<SignalboxHere> =>
  start(options, { start: startHere, end: (parts) => Promise.all(parts.map((each) => each.stop())) });

interface Starting<Part extends Started> {
  start(app: 'gateway' | 'worker', options: ProcessOptions): Promise<Part>;
  end(parts: readonly Part[]): Promise<unknown>;
}

async function start<Part extends Started>(
  options: SignalboxOptions,
  starting: Starting<Part>,
): Promise<Signalbox<Part>> {
  const { script = [], gateways = 1, workers = 1, scripted = true } = options;
  const [database, directory, upstream, redis] = await Promise.all([
    createMigratedDatabase(),
    temporaryDirectory(),
    startScriptedUpstream(script),
    inject('backing') === 'redis' ? startRedis() : undefined,
  ]);
  const provider = { kind: 'openai', base_url: upstream.baseUrl, api_key: 'sk-scripted-upstream', max_retries: 0 };
  const environment: Record<string, string> = {
    DATABASE_URL: database.url,
    DATA_DIR: directory.path,
    // Most tests are about other things than approvals.
    POLICY_DEFAULT: 'allow',
    ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
    ...(scripted ? { MODELS_PROVIDERS: JSON.stringify({ scripted: provider }), DEFAULT_MODEL: 'scripted/model' } : {}),
    ...options.environment,
  };
  const box: Signalbox<Part> = {
    url: '',
    gateways: [],
    workers: [],
    databaseUrl: database.url,
    redis,
    workspacesDir: `${directory.path}/workspaces`,
    upstream,
    rows: (sql, values) => rowsOf(database.url, sql, values),
    async startGateway(more = {}, limits = {}) {
      const gateway = await starting.start('gateway', { ...limits, environment: { ...environment, ...more } });
      box.gateways.push(gateway);
      return gateway;
    },
    async startWorker(more = {}, limits = {}) {
      const worker = await starting.start('worker', { ...limits, environment: { ...environment, ...more } });
      box.workers.push(worker);
      return worker;
    },
    async close() {
      await starting.end([...box.gateways, ...box.workers]);
      await upstream.close();
      await redis?.stop();
      await database.drop();
      await directory.remove();
    },
  };
  try {
    // A gateway that starts after them knows the servers that they have listed.
    await started(Array.from({ length: workers }, () => box.startWorker()));
    await started(Array.from({ length: gateways }, () => box.startGateway()));
  } catch (error) {
    await box.close();
    throw error;
  }
  box.url = box.gateways[0]?.url ?? '';
  if (workers > 0) await Promise.all(box.gateways.map((gateway) => toolsReady(gateway.url)));
  return box;
}

async function rowsOf<Row extends pg.QueryResultRow>(url: string, sql: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

function killAll(processes: readonly StartedProcess[]): Promise<unknown> {
  for (const each of processes) each.kill('SIGKILL');
  return Promise.all(processes.map((each) => each.ended));
}

/** Waits for all, also when one fails: what still starts would be missed by `close`. */
async function started(starts: readonly Promise<Started>[]): Promise<void> {
  await Promise.allSettled(starts);
  await Promise.all(starts);
}

/** The gateway knows a worker and its tools. */
export async function toolsReady(url: string): Promise<void> {
  const until = Date.now() + 15_000;
  for (;;) {
    const answer = (await (await fetch(`${url}/api/tools`)).json()) as { tools?: unknown[]; data?: unknown[] };
    if ((answer.tools ?? answer.data ?? []).length > 0) return;
    if (Date.now() > until) throw new Error('the gateway learnt of no tools');
    // What is waited for is the other process's announcement, which a test cannot hear.
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
