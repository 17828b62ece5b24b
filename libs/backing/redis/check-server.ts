// Checks once, at the start, whether Redis keeps its data. A version that is too old ends the start; settings that may lose
// jobs cause a warning that says what to set.
import { Cluster } from 'ioredis';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import type { RedisClient } from './redis-client.js';
import { accessAnswers } from './redis-error.js';

/** The minimum that BullMQ recommends; below it blocking waits and some commands differ. */
const least = { major: 6, minor: 2 };

/** Returns the version of a master. @throws AppError internal_error for a version that is too old; otherwise the server's error */
export async function checkServer(client: RedisClient, logger: Logger): Promise<string | undefined> {
  const masters = client instanceof Cluster ? client.nodes('master') : [client];
  const found = new Map<string, string>();
  let version: string | undefined;
  for (const master of masters) {
    const information = readInformation(await master.info());
    refuseOld(information);
    version = information.get('redis_version');
    for (const warning of warningsOf(information)) found.set(warning, warning);
  }
  for (const warning of found.values()) logger.warn({}, warning);
  return version;
}

/** Explains a failed first connection to the operator who set the address; undefined if there is no better message. */
export function startProblem(error: unknown): AppError | undefined {
  const message = error instanceof Error ? error.message : '';
  if (accessAnswers.test(message)) {
    return new AppError('internal_error', 'Redis rejected the user name or password of REDIS_URL', { cause: error });
  }
  if (/cluster support disabled/i.test(message)) {
    return new AppError('internal_error', 'REDIS_URL says redis+cluster://, but this Redis is not a cluster', {
      cause: error,
    });
  }
  if (/^MOVED |^ERR SELECT is not allowed in cluster mode/.test(message)) {
    return new AppError('internal_error', 'This Redis is a cluster: REDIS_URL must say redis+cluster://', {
      cause: error,
    });
  }
  return undefined;
}

function readInformation(text: string): Map<string, string> {
  const lines = text.split(/\r?\n/).map((line) => line.split(':'));
  return new Map(lines.flatMap(([name, ...rest]) => (rest.length > 0 ? [[name!, rest.join(':')]] : [])));
}

function refuseOld(information: Map<string, string>): void {
  const version = information.get('redis_version') ?? '';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (version === '' || major > least.major || (major === least.major && minor >= least.minor)) return;
  throw new AppError('internal_error', `Redis ${version} is too old: ${least.major}.${least.minor} or newer is needed`);
}

function* warningsOf(information: Map<string, string>): Generator<string> {
  if (information.get('aof_enabled') === '0') {
    yield 'Redis has no append-only file: a restart loses waiting jobs, which are then added again. Set appendonly yes';
  }
  const policy = information.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    yield `Redis evicts keys when it is full (${policy.slice(0, 40)}): jobs may vanish. Set maxmemory-policy noeviction`;
  }
}
