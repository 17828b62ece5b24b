// Starts a built gateway or worker in the process of the test, on a free port. Most of a start is the loading of code, which is done once
// in a process. It has the environment that it is given, but for its tool servers, which inherit the test's.
import 'reflect-metadata';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as KnownSecrets from '#libs/audit/known-secrets.js';
import type * as LoadConfig from '#libs/config/load-config.js';
import type * as ReadConfig from '#libs/config/read-config.js';
import type { Config } from '#libs/config/schema.js';
import type * as Secrets from '#libs/config/secrets.js';
import type * as OpenLogger from '#libs/logging/open-logger.js';
import { builtProgram } from '#libs/process/find-installed.js';
import type * as RunProcess from '#libs/process/run-process.js';
import { LogLines, type ProcessOptions, type Started, urlOf } from './start-process.js';

export interface StartedHere extends Started {
  /** Lets go of work under way at once. */
  stop(): Promise<void>;
}

type Start = (
  config: Config,
  logger: OpenLogger.OpenLogger,
  reader: LoadConfig.ConfigReader,
) => Promise<RunProcess.RunningProcess>;

export async function startHere(app: 'gateway' | 'worker', { environment }: ProcessOptions): Promise<StartedHere> {
  const { readConfig } = await built<typeof ReadConfig>('libs/config/read-config.js');
  const { openConfigReader } = await built<typeof LoadConfig>('libs/config/load-config.js');
  const { secretValues } = await built<typeof Secrets>('libs/config/secrets.js');
  const { knowSecrets } = await built<typeof KnownSecrets>('libs/audit/known-secrets.js');
  const { openLogger } = await built<typeof OpenLogger>('libs/logging/open-logger.js');
  const given = { NODE_ENV: 'test', HOST: '127.0.0.1', PORT: '0', SERVER_WORKER_PORT: '0', ...environment };
  // Not that of the checkout: a developer's own signalbox.yaml must not change a test.
  const withoutFile = { path: join(tmpdir(), 'no-signalbox.yaml'), read: () => readConfig({ environment: given }) };
  const reader = environment['SIGNALBOX_CONFIG'] === undefined ? withoutFile : openConfigReader(given);
  const config = reader.read();
  const secrets = secretValues(config);
  knowSecrets(secrets);
  const lines = new LogLines(app, () => false);
  const destination = { write: lines.take };
  const logger = await openLogger({ service: app, level: config.log.level, secrets, destination });
  const modules = await built<Record<string, Start>>(`apps/${app}/start-${app}.js`);
  const start = modules[app === 'gateway' ? 'startGateway' : 'startWorker']!;
  const { withPatience } = await built<typeof RunProcess>('libs/process/run-process.js');
  const running = await withPatience(
    () => start(config, logger, reader),
    () => true,
  );
  const listening = await lines.logged((line) => line['message'] === 'listening');
  return { url: urlOf(listening), log: lines.log, logged: lines.logged, stop: () => running.stop(0) };
}

const built = async <T>(path: string): Promise<T> => (await import(builtProgram(path).href)) as T;
