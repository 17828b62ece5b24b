// Every command of the compose file and of the overlay `dev`, run as plain processes with the user, the environment and
// the files that they say; our own PostgreSQL and Redis stand in for theirs.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest';
import { postJson } from '../support/read-sse.js';
import { freePort } from '../support/services/free-port.js';
import { toolsReady } from '../support/services/start-signalbox.js';
import { createTestDatabase, type TestDatabase } from '../support/services/test-database.js';
import { killAll, type Program } from '../faults/processes.js';
import { type HeldWeb, openHeldWeb } from '../support/held-web.js';
import { rawRequest } from '../support/raw-request.js';
import { runProgram } from '../support/run-program.js';
import { verifies } from '../verifies.js';
import { gatewayCommands } from './checklist.js';
import {
  composePlan,
  ContainerFiles,
  type ContainerPlan,
  inContainer,
  kubernetesPlan,
  startContainer,
} from './containers.js';
import { buildOverlay, composeFile, makeSecrets, type Manifest, type Settings } from './deployment-files.js';
import { withTools } from './tools.js';

interface Deployment {
  files: ContainerFiles;
  migrate: ContainerPlan;
  worker: ContainerPlan;
  gateway: ContainerPlan;
  chimech: ContainerPlan;
}

/** Six processes start in it, on a machine that may be busy. */
const lifeMs = 120_000;
/** As long as a pod may fail its probes before it is restarted. */
const probedMs = 30_000;
const running: Program[] = [];
let files: ContainerFiles;
let web: HeldWeb;
let redisPort: number;
let redisPassword: string;
const compose = composeFile();

/** What differs here: its port, and a private address that a tool may fetch. */
const workerHere = { SERVER_WORKER_PORT: '0', TOOLS_FETCH_ALLOW: '127.0.0.1' };

/** Ends with us: it runs as long as its input is open. */
const holder = 'exec 3<&0; "$@" </dev/null 3<&- & p=$!; read _ <&3; kill -TERM $p; wait $p';

withTools(['kubectl', 'redis-server'], () => {
  let redis: Program;
  let database: TestDatabase;

  beforeAll(async () => {
    files = new ContainerFiles();
    web = await openHeldWeb();
    makeSecrets(files.inside('/made'));
    redisPassword = secret('redis_password');
    redisPort = await freePort();
    files.write('/etc/redis/redis.conf', readFileSync('config/redis/redis.conf', 'utf8'));
    for (const name of [
      'redis_auth.conf',
      'redis_password',
      'metrics_token',
      'vault_key',
      'audit_signing_key',
      'chimech_api_key',
    ]) {
      files.write(`/run/secrets/${name}`, secret(name));
    }
    files.volume('/data', 999);
    const here = ['--port', String(redisPort), '--dir', files.inside('/data'), '--bind', '127.0.0.1'];
    const plan = composePlan(compose, 'redis');
    redis = startContainer(files, { ...plan, command: ['sh', '-c', holder, 'sh', ...plan.command, ...here] });
    await redis.line(/Ready to accept connections/);
  });
  afterEach(async () => {
    await killAll(running.splice(0));
    await database?.drop();
  });
  afterAll(async () => {
    redis?.process.stdin.end();
    await redis?.ended;
    web?.close();
    files?.remove();
  });

  verifies(
    'deployment.processes',
    'compose',
    async () => {
      database = await createTestDatabase();
      files.write('/run/secrets/database_url', database.url);
      for (const role of ['application', 'reader']) {
        files.write(`/run/secrets/database_${role}_url`, roleHere(database, secret(`database_${role}_url`)));
      }
      files.write('/run/secrets/redis_url', urlHere(secret('redis_url')));
      const redisHealth = composePlan(compose, 'redis').healthCommand![0]!;
      const question = redisHealth.replaceAll('$$', '$').replace('redis-cli', `redis-cli -p ${redisPort}`);
      const { code } = await inContainer(files, composePlan(compose, 'redis'), ['sh', '-c', question]);
      expect(code).toBe(0);
      await liveThrough(
        deploymentOf((name) => composePlan(compose, name)),
        followChecklist,
      );
    },
    lifeMs,
  );

  verifies(
    'deployment.processes',
    'Kubernetes',
    async () => {
      database = await createTestDatabase();
      const manifests = buildOverlay('dev');
      const secrets = secretOf(manifests, 'signalbox-connections');
      expect(new URL(secrets['redis-url']!).hostname).toBe('redis');
      files.write('/run/secrets/signalbox/database-url', roleHere(database, secrets['database-url']!));
      files.write('/run/secrets/signalbox/redis-url', urlHere(secrets['redis-url']!));
      files.write('/run/secrets/signalbox/metrics-token', secrets['metrics-token']!);
      files.write('/run/secrets/chimech/api-key', secretOf(manifests, 'signalbox-chimech')['api-key']!);
      files.write('/run/secrets/audit/signing-key', secretOf(manifests, 'signalbox-audit')['signing-key']!);
      const plans = deploymentOf((name) =>
        kubernetesPlan(manifests, `signalbox-${name === 'migrate' ? 'gateway' : name}`, name),
      );
      const { username } = new URL(secretOf(manifests, 'signalbox-database-owner')['database-url']!);
      expect([username, new URL(secrets['database-url']!).username]).toEqual(['signalbox', 'signalbox_application']);
      plans.migrate.settings['DATABASE_OWNER_URL'] = database.url;
      await liveThrough(plans);
      expect(await signedCheckpoints(database.url)).toBeGreaterThan(0);
    },
    lifeMs,
  );
});

const deploymentOf = (plan: (name: string) => ContainerPlan): Deployment => ({
  files,
  migrate: plan('migrate'),
  worker: plan('worker'),
  gateway: plan('gateway'),
  chimech: plan('chimech'),
});

/** Commands of the checklist that ask the gateway alone. */
async function followChecklist(url: string): Promise<void> {
  for (const command of gatewayCommands()) {
    const here = command
      .replaceAll('http://127.0.0.1:8000', url)
      .replaceAll('docker compose exec -T gateway cat /run/secrets/', `cat ${files.inside('/made')}/`);
    const { code, stdout, stderr } = await runProgram('sh', ['-c', here]);
    expect([command, code === 0 ? 'ran' : stderr]).toEqual([command, 'ran']);
    expect(stdout.trim(), command).not.toBe('');
  }
}

/** Migrate, start, be healthy, run a tool, stop in time. */
async function liveThrough(
  { files, migrate, worker, gateway, chimech }: Deployment,
  whileItLives: (url: string) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  for (const path of ['/mcp_workspaces', '/var/lib/signalbox']) files.volume(path, gateway.uid);
  const applied = start(migrate);
  expect([await applied.ended, applied.lines.at(-1)]).toEqual([0, 'The database is up to date.']);
  const processes = {
    worker: start(worker, workerHere),
    gateway: start(gateway, { PORT: '0', POLICY_DEFAULT: 'allow' }),
  };
  const [workerPort, gatewayPort] = await Promise.all([portOf(processes.worker), portOf(processes.gateway)]);
  await healthy(worker, 'SERVER_WORKER_PORT', workerPort);
  await healthy(gateway, 'PORT', gatewayPort);
  await scraped(worker, workerPort, processes.worker);
  await scraped(gateway, gatewayPort, processes.gateway);
  const url = `http://127.0.0.1:${gatewayPort}`;
  await toolsReady(url);
  const answer = await postJson(`${url}/api/chat/completions`, {
    messages: [{ role: 'user', content: 'Write "hello" to notes.txt' }],
    tools: [{ type: 'mcp', server_label: 'workspace' }],
  });
  expect(await answer.json()).toMatchObject({
    tool_execution: { tools_called: ['write_file'], calls: [{ success: true }] },
  });
  await servesChimech(chimech, url);
  await whileItLives(url);
  await drains(processes, { worker, gateway }, { url, port: gatewayPort });
}

/** Its own process, with its key, asks the gateway. */
async function servesChimech(plan: ContainerPlan, gatewayUrl: string): Promise<void> {
  const program = start(plan, { CHIMECH_PORT: '0', CHIMECH_GATEWAY_URL: gatewayUrl });
  const port = await portOf(program);
  await healthy(plan, 'CHIMECH_PORT', port);
  await scraped(plan, port, program);
  const keyFile = plan.settings['CHIMECH_API_KEY_FILE']!.replace('/run', files.inside('/run'));
  const params = { name: 'chimech/query', arguments: { question: 'What is the capital of France?' } };
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  const authorization = `Bearer ${readFileSync(keyFile, 'utf8').trim()}`;
  const answer = await postJson(`http://127.0.0.1:${port}/mcp`, call, { authorization });
  expect(JSON.stringify(await answer.json())).toMatch(/offline/);
  expect((await postJson(`http://127.0.0.1:${port}/mcp`, call)).status).toBe(401);
  await stopped(program, plan);
}

/** A call is under way and a connection is open when both are told to stop. */
async function drains(
  processes: Record<'worker' | 'gateway', Program>,
  plans: Pick<Deployment, 'worker' | 'gateway'>,
  { url, port }: { url: string; port: number },
): Promise<void> {
  const unused = connect(port, '127.0.0.1');
  await once(unused, 'connect');
  const path = `/${randomUUID()}`;
  const held = { url: `${web.url}${path}`, method: 'POST' };
  const call = postJson(`${url}/api/tools/call`, { name: 'fetch', arguments: held });
  await web.reached(path);
  const ends = Promise.all([stopped(processes.gateway, plans.gateway), stopped(processes.worker, plans.worker)]);
  await Promise.all(Object.values(processes).map((program) => program.line(/stopping: SIGTERM/)));
  web.answer(path);
  expect(await (await call).json()).toMatchObject({ success: true });
  await ends;
  unused.destroy();
}

function start(plan: ContainerPlan, more?: Settings): Program {
  const free: Settings = plan.settings['METRICS_PORT'] === undefined ? {} : { METRICS_PORT: '0' };
  const program = startContainer(files, plan, { ...free, ...more });
  running.push(program);
  return program;
}

async function portOf(program: Program): Promise<number> {
  const port = await loggedPort(program, 'listening');
  if (process.getuid?.() === 0) {
    const status = readFileSync(`/proc/${program.process.pid}/status`, 'utf8');
    expect(status).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m);
  }
  return port;
}

async function loggedPort(program: Program, message: string): Promise<number> {
  const line = await program.line(new RegExp(`"message":"${message}"`));
  return (JSON.parse(line) as { metadata: { port: number } }).metadata.port;
}

async function healthy(plan: ContainerPlan, portSetting: string, port: number): Promise<void> {
  if (plan.healthCommand !== undefined) {
    const asked = await inContainer(files, plan, plan.healthCommand, { [portSetting]: String(port) });
    expect([asked.code, asked.stderr]).toEqual([0, '']);
    const nobody = await inContainer(files, plan, plan.healthCommand, { [portSetting]: '1' });
    expect(nobody.code).toBe(1);
  }
  for (const path of plan.probes) {
    // As kubelet asks: by the pod's address.
    const headers = { host: `10.1.2.3:${port}` };
    // Until it answers so: a check has 300 ms, which a process that has just started may not have on a busy machine.
    await vi.waitFor(
      async () => {
        const answer = await rawRequest(`http://127.0.0.1:${port}`, { method: 'GET', path, headers });
        expect([path, answer.status]).toEqual([path, 200]);
      },
      { timeout: probedMs, interval: 100 },
    );
  }
}

/** By who has the token, on the port that is for it. */
async function scraped(plan: ContainerPlan, port: number, program: Program): Promise<void> {
  const alone = plan.settings['METRICS_PORT'] !== undefined;
  const metricsPort = alone ? await loggedPort(program, 'metrics listen') : port;
  if (alone) expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(404);
  const token = readFileSync(plan.settings['METRICS_TOKEN_FILE']!.replace('/run', files.inside('/run')), 'utf8');
  const scrape = async (given: string) => {
    const headers = { authorization: `Bearer ${given}`, 'x-forwarded-for': '10.0.0.9' };
    return (await fetch(`http://127.0.0.1:${metricsPort}/metrics`, { headers })).status;
  };
  expect([await scrape(token.trim()), await scrape('another')]).toEqual([200, 401]);
}

async function stopped({ process: child, ended, lines }: Program, { graceMs }: ContainerPlan): Promise<void> {
  child.kill('SIGTERM');
  const deadline = setTimeout(() => child.kill('SIGKILL'), graceMs);
  const code = await ended;
  clearTimeout(deadline);
  expect([code, lines.at(-1)]).toEqual([0, expect.stringContaining('"message":"stopped"')]);
  // A Redis that could forget jobs would have been warned of.
  expect(lines.filter((line) => /"level":"(?:warn|error)"/.test(line))).toEqual([]);
}

async function signedCheckpoints(connectionString: string): Promise<number> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query('select from audit_checkpoints where signature is not null')).rowCount ?? 0;
  } finally {
    await client.end();
  }
}

const secret = (name: string): string => readFileSync(files.inside(`/made/${name}`), 'utf8').trim();

/** The same role, with a name of this run's own since all databases of the server share them, in the database of this test. */
function roleHere(database: TestDatabase, made: string): string {
  const { username, password } = new URL(made);
  const url = new URL(database.url);
  url.username = `${username}_${process.pid}`;
  url.password = password;
  return url.href;
}

/** The same user and password, at the Redis of this test. */
function urlHere(made: string): string {
  const url = new URL(made);
  url.hostname = '127.0.0.1';
  url.port = String(redisPort);
  url.password = redisPassword;
  return url.href;
}

function secretOf(manifests: readonly Manifest[], name: string): Settings {
  const found = manifests.find(({ kind, metadata }) => kind === 'Secret' && metadata.name.startsWith(name));
  const data = Object.entries(found?.data ?? {});
  return Object.fromEntries(data.map(([key, text]) => [key, Buffer.from(text, 'base64').toString('utf8').trim()]));
}
