// `npm start`: everything that this machine needs, with one command: PostgreSQL (without DATABASE_URL), its migrations,
// the gateway and the worker. Exit codes: 0 stopped as asked, 1 something could not be started or kept running.
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { envFileInForce } from '#libs/config/files/env-file.js';
import { configSource } from '#libs/config/load-config.js';
import { readConfigWithOrigins } from '#libs/config/read-config.js';
import { migrate } from '#libs/postgres/migrate.js';
import { openLogger } from '#libs/logging/open-logger.js';
import { secretValues } from '#libs/config/secrets.js';
import { builtProgram } from '#libs/process/find-installed.js';
import { localUrl } from '#libs/process/local-url.js';
import { chimechModule } from './start/chimech-module.js';
import { choosePorts } from './start/choose-port.js';
import { describeStart } from './start/describe-start.js';
import { listenForSignals } from './start/listen-for-signals.js';
import { supervise } from './start/supervise.js';
import { vaultKeyFile } from './start/vault-key-file.js';

async function main(): Promise<void> {
  const asked = listenForSignals(['start', 'npx'].includes(process.env['npm_lifecycle_event'] ?? ''));
  const source = configSource();
  const { config, origins } = readConfigWithOrigins(source);
  const { server, database, redis, log } = config;
  const logger = await openLogger({ service: 'supervisor', level: log.level, secrets: secretValues(config) });
  const { gateway: gatewayPort, worker: workerPort } = await choosePorts(config, origins);
  const gatewayUrl = localUrl(server.host, gatewayPort);
  const workerUrl = localUrl(server.host, workerPort);
  const readyUrls = { gateway: `${gatewayUrl}/health/ready`, worker: `${workerUrl}/health/ready` };
  try {
    await supervise({
      logger,
      dataDir: config.data_dir,
      databaseUrl: database.url,
      migrate,
      services: [
        {
          name: 'gateway',
          program: [fileURLToPath(builtProgram('apps/gateway/main.js'))],
          readyUrl: readyUrls.gateway,
        },
        { name: 'worker', program: [fileURLToPath(builtProgram('apps/worker/main.js'))], readyUrl: readyUrls.worker },
      ],
      environment: {
        // From Node 22 on they start a tenth of a second sooner when they have started before.
        NODE_COMPILE_CACHE: join(resolve(config.data_dir), 'compile-cache'),
        ...process.env,
        // Only what was chosen here: the rest the services read from the same places.
        ...(gatewayPort === server.port ? {} : { PORT: String(gatewayPort) }),
        ...(workerPort === server.worker_port ? {} : { SERVER_WORKER_PORT: String(workerPort) }),
        ...(config.vault.key === undefined && { VAULT_KEY_FILE: await vaultKeyFile(config.data_dir) }),
        ...chimechModule(config, builtProgram('apps/chimech/own-tools.module.js')),
      },
      // The services keep to their grace themselves; this is for one that does not.
      stopDeadlineMs: server.shutdown_grace_ms + 5_000,
      onReady: async () => {
        const health = await Promise.all([readyUrls.worker, readyUrls.gateway].map(readJson));
        console.log(
          describeStart({
            gatewayUrl,
            hasConsole: config.console.enabled,
            workerUrl,
            dataDir: resolve(config.data_dir),
            database: database.url === undefined ? 'embedded' : 'given',
            queue: redis.url === undefined ? 'postgres' : 'redis',
            keys: config.auth.mode === 'off' ? 'off' : await keysOf(gatewayUrl),
            configuration: source.file && resolve(source.file.path),
            envFile: envFileInForce()?.path,
            health,
          }),
        );
      },
      ...asked,
    });
  } finally {
    logger.flush();
  }
}

/** By asking for something without a key. */
async function keysOf(gatewayUrl: string): Promise<'needed' | 'none'> {
  const status = await fetch(`${gatewayUrl}/api/approvals`, { signal: AbortSignal.timeout(2_000) }).then(
    (answer) => answer.body?.cancel().then(() => answer.status),
    () => undefined,
  );
  return status === 401 ? 'needed' : 'none';
}

async function readJson(url: string): Promise<unknown> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    return await response.json();
  } catch {
    return undefined;
  }
}

try {
  await main();
  process.exit(0);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
