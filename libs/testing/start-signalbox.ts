// A whole Signalbox for a test: a database of its own, any number of gateways and workers, an upstream that follows a
// script. Everything is real but the model.
import { createMigratedDatabase } from './test-database.js';
import { type ScriptedUpstream, startScriptedUpstream, type Script } from './scripted-upstream.js';
import { type StartedProcess, startProcess, temporaryDirectory } from './start-process.js';

export interface Signalbox {
  url: string;
  gateways: StartedProcess[];
  workers: StartedProcess[];
  databaseUrl: string;
  workspacesDir: string;
  /** The script's upstream; its models are asked for as `scripted/<any name>`. */
  upstream: ScriptedUpstream;
  startGateway(environment?: Record<string, string>): Promise<StartedProcess>;
  startWorker(environment?: Record<string, string>): Promise<StartedProcess>;
  close(): Promise<void>;
}

export interface SignalboxOptions {
  script?: Script;
  gateways?: number;
  workers?: number;
  environment?: Record<string, string>;
  /** False: no provider is configured, the offline model answers. */
  scripted?: boolean;
}

export async function startSignalbox(options: SignalboxOptions = {}): Promise<Signalbox> {
  const { script = [], gateways = 1, workers = 1, scripted = true } = options;
  const [database, directory, upstream] = await Promise.all([
    createMigratedDatabase(),
    temporaryDirectory(),
    startScriptedUpstream(script),
  ]);
  const provider = { kind: 'openai', base_url: upstream.baseUrl, api_key: 'sk-scripted-upstream', max_retries: 0 };
  const environment: Record<string, string> = {
    DATABASE_URL: database.url,
    DATA_DIR: directory.path,
    ...(scripted ? { MODELS_PROVIDERS: JSON.stringify({ scripted: provider }), DEFAULT_MODEL: 'scripted/model' } : {}),
    ...options.environment,
  };
  const box: Signalbox = {
    url: '',
    gateways: [],
    workers: [],
    databaseUrl: database.url,
    workspacesDir: `${directory.path}/workspaces`,
    upstream,
    async startGateway(more = {}) {
      const gateway = await startProcess('gateway', { environment: { ...environment, ...more } });
      box.gateways.push(gateway);
      return gateway;
    },
    async startWorker(more = {}) {
      const worker = await startProcess('worker', { environment: { ...environment, ...more } });
      box.workers.push(worker);
      return worker;
    },
    async close() {
      const processes = [...box.gateways, ...box.workers];
      for (const each of processes) each.kill('SIGKILL');
      await Promise.all(processes.map((each) => each.ended));
      await upstream.close();
      await database.drop();
      await directory.remove();
    },
  };
  try {
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

/** Waits for all, also when one fails: what still starts would be missed by `close`. */
async function started(starts: readonly Promise<StartedProcess>[]): Promise<void> {
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
