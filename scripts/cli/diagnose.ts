// The checks of `signalbox doctor`. Each looks at the real thing the way a start does: the configuration is read, the port is
// bound, a confined process is started, the binaries of the database are looked for.
import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import pg from 'pg';
import { atHosts } from '#libs/config/addresses/shown-hosts.js';
import { inheritedEnvironment } from '#libs/config/child-environment.js';
import { ConfigError } from '#libs/config/config-error.js';
import type { Config } from '#libs/config/schema.js';
import { workspacesDirectory } from '#libs/config/workspaces-directory.js';
import { findNativeDirectory } from '#libs/embedded-postgres/binaries.js';
import { runningAddress } from '#libs/embedded-postgres/running-address.js';
import { whyUnreachable } from '#libs/http-client/why-unreachable.js';
import { silentLogger } from '#libs/logging/logger.js';
import { localUrl } from '#libs/process/local-url.js';
import { isJsonObject } from '#libs/schemas/json.js';
import { FreeSpace } from '#libs/workspace/free-space.js';
import { Isolation } from '../../apps/worker/sandbox/isolation.js';
import { checkedConfiguration, type CheckedConfiguration, verdictOn } from '../config/check-configuration.js';
import { choosePorts } from '../start/choose-port.js';

export interface Finding {
  /** `stop`: a start would end with it. */
  state: 'ok' | 'note' | 'stop';
  what: string;
}

const askMs = 3_000;
const ok = (what: string): Finding => ({ state: 'ok', what });
const note = (what: string): Finding => ({ state: 'note', what });
const stop = (what: string): Finding => ({ state: 'stop', what });

export async function* diagnose(): AsyncGenerator<Finding> {
  yield ok(`Node ${process.versions.node} on ${process.platform} ${process.arch}`);
  const checked = await checkOrExplain();
  if (typeof checked === 'string') {
    yield stop(`the configuration is not valid: ${checked}`);
    return;
  }
  const { config } = checked;
  yield* describeConfiguration(checked);
  yield checkDataDirectory(config);
  const health = await askHealth(localUrl(config.server.host, config.server.port));
  if (health !== undefined) yield* describeHealth(config, health);
  else yield* [await checkPorts(checked), ...(await checkFreeSpace(config))];
  yield await checkDatabase(config);
  yield await checkIsolation(config);
}

async function checkOrExplain(): Promise<CheckedConfiguration | string> {
  try {
    return await checkedConfiguration();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

/** The verdict of `config check`. With what is wrong there, a start goes on without it. */
function describeConfiguration({ findings }: CheckedConfiguration): Finding[] {
  const told = findings.filter(({ state }) => state !== 'ok');
  const verdict = told.some(({ state }) => state === 'wrong') ? note : ok;
  return [
    verdict(`the configuration ${verdictOn(findings)} (${findings[0]!.message})`),
    ...told.map(({ what, message }) => note(`${what}: ${message}`)),
  ];
}

/** What will be made is made in the nearest directory that is there. */
function checkDataDirectory({ data_dir }: Config): Finding {
  const path = resolve(data_dir);
  const existing = nearestExisting(path);
  try {
    accessSync(existing, constants.W_OK | constants.X_OK);
    return ok(`data is stored in ${path}`);
  } catch {
    return stop(`${existing} cannot be written by this user: change its owner, or set DATA_DIR to another directory`);
  }
}

function nearestExisting(path: string): string {
  let existing = path;
  while (!existsSync(existing)) existing = dirname(existing);
  return existing;
}

/** A gateway that runs looks itself. */
async function checkFreeSpace(config: Config): Promise<Finding[]> {
  const { path } = workspacesDirectory(config);
  const space = new FreeSpace(nearestExisting(resolve(path)), config.workspaces.min_free_bytes);
  // Some file systems do not report it.
  const free = await space.now().catch(() => Infinity);
  if (free >= space.minFreeBytes) return [];
  const shown = `${free} bytes free, less than workspaces.min_free_bytes (${space.minFreeBytes})`;
  return [note(`the disk of ${resolve(path)} has ${shown}: tools would write no files. Free space, or lower it`)];
}

async function checkPorts({ config, origins }: CheckedConfiguration): Promise<Finding> {
  const { host, port } = config.server;
  try {
    await choosePorts(config, origins);
    return ok(`no gateway runs at ${localUrl(host, port)}, and its port is free`);
  } catch (error) {
    return stop((error as Error).message);
  }
}

/** Undefined where no gateway of ours answers. */
async function askHealth(url: string): Promise<Record<string, unknown> | undefined> {
  try {
    const response = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(askMs) });
    const health: unknown = await response.json();
    return isJsonObject(health) && health['service'] === 'gateway' ? health : undefined;
  } catch {
    return undefined;
  }
}

function describeHealth({ server }: Config, health: Record<string, unknown>): Finding[] {
  const url = localUrl(server.host, server.port);
  const checks = Array.isArray(health['checks']) ? (health['checks'] as Record<string, unknown>[]) : [];
  const troubles = checks.filter(({ status }) => status !== 'ok');
  const runs = health['status'] === 'ok' ? ok : note;
  return [
    runs(`a gateway runs at ${url} and is ${String(health['status'])}`),
    ...troubles.map(({ name, status, reason }) => note(`${String(name)} is ${String(status)}: ${String(reason)}`)),
  ];
}

async function checkDatabase({ database, data_dir }: Config): Promise<Finding> {
  const url = database.url ?? (await runningAddress(data_dir).catch(() => undefined));
  if (url === undefined) {
    try {
      findNativeDirectory();
      return ok('the embedded PostgreSQL can be started');
    } catch (error) {
      return stop((error as Error).message);
    }
  }
  const whose =
    database.url === undefined ? 'the embedded PostgreSQL' : `the PostgreSQL${atHosts(database.url)} (DATABASE_URL)`;
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: askMs });
  try {
    await client.connect();
    await client.end();
    return ok(`${whose} answers`);
  } catch (error) {
    return stop(`${whose} does not answer: ${whyUnreachable(error)}`);
  }
}

async function checkIsolation({ isolation, tools }: Config): Promise<Finding> {
  const found = await Isolation.find({
    path: inheritedEnvironment()['PATH'] ?? '',
    maxFileBytes: tools.max_result_bytes,
    allowUnsandboxed: isolation.allow_unsandboxed,
    logger: silentLogger,
  });
  const refusal = found.refusal(isolation.minimum);
  return refusal === undefined
    ? ok(`command servers can be isolated: '${isolation.minimum}'`)
    : note(`command servers would be refused: ${refusal}`);
}
