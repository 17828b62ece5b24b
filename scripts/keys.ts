// `signalbox keys`: API keys on the database, also of an embedded one, running or not. What it changes is in force on every
// gateway at once, or within a second where it cannot be announced. Exit codes: 0 done, 1 refused, 2 wrong usage, 3 the database does not answer.
import 'reflect-metadata';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { announceKeys } from '#libs/access/key-announcements.js';
import { KeyStore, type KeyActor, type StoredKey } from '#libs/access/key-store.js';
import { loadConfig } from '#libs/config/load-config.js';
import { openBacking } from '#libs/backing/open-backing.js';
import { silentLogger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintRequestId } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { CreateKeyDto, newKeyOf } from '../apps/gateway/http/admin/keys.dto.js';
import { showKey } from '../apps/gateway/http/admin/shown-key.js';
import { readArguments, UsageError } from './cli/usage-error.js';
import { withStore } from './with-store.js';

const maxListed = 10_000;

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = exitCodeOf(error);
}

async function main(): Promise<void> {
  const { positionals, values } = read();
  const [command, id] = positionals;
  const work = workOf(command, id, values);
  const config = loadConfig();
  await withStore(config, { applicationName: 'keys' }, async (database, url) => {
    const store = new KeyStore(database, { audit: config.audit.enabled });
    await work(store, { principal: 'npm run keys', requestId: mintRequestId() });
    if (command !== 'list') await announce(url, config.redis.url);
  });
}

/** Gateways that cannot be told look by themselves. */
async function announce(databaseUrl: string, redisUrl: string | undefined): Promise<void> {
  const given = { databaseUrl, applicationName: 'keys', ...(redisUrl === undefined ? {} : { redisUrl }) };
  const backing = await openBacking(given).catch(() => undefined);
  if (backing === undefined) return;
  await announceKeys(backing.channels, silentLogger);
  await backing.close();
}

type Values = ReturnType<typeof read>['values'];
type Work = (store: KeyStore, by: KeyActor) => Promise<void>;

function read() {
  const text = { type: 'string' } as const;
  return readArguments('keys', {
    allowPositionals: true,
    options: {
      owner: text,
      scopes: text,
      name: text,
      roles: text,
      models: text,
      'allow-tools': text,
      'deny-tools': text,
      turns: text,
      'requests-per-minute': text,
      'tokens-per-minute': text,
      'day-usd': text,
      'month-usd': text,
      'expires-at': text,
      'grace-s': text,
      json: { type: 'boolean', default: false },
    },
  });
}

/** Understood before the database is opened. */
function workOf(command: string | undefined, id: string | undefined, values: Values): Work {
  if (command === 'create') {
    const key = newKeyOf(readKey(values));
    return async (store, by) => printMade(await store.create(key, by), values.json);
  }
  if (command === 'list') {
    return async (store) => {
      const keys = await store.list({ limit: maxListed });
      if (values.json) console.log(JSON.stringify(keys.map(showKey)));
      else if (keys.length === 0) console.error('There are no keys. `signalbox keys create` makes one.');
      else for (const key of keys) console.log(lineOf(key));
    };
  }
  if (command !== 'rotate' && command !== 'revoke') {
    throw new UsageError(command === undefined ? 'No command was given' : `'${command}' is not a command`, 'keys');
  }
  if (id === undefined)
    throw new UsageError(`${command} needs the id of a key, as \`signalbox keys list\` shows it`, 'keys');
  if (command === 'rotate') {
    const grace = Number(values['grace-s'] ?? 0);
    if (!Number.isInteger(grace) || grace < 0) throw new UsageError('--grace-s must be a number of seconds', 'keys');
    return async (store, by) => printMade(await store.rotate(id, grace, by), values.json);
  }
  return async (store, by) => {
    const key = await store.revoke(id, by);
    console.log(values.json ? JSON.stringify(showKey(key)) : lineOf(key));
  };
}

function readKey(values: Values): CreateKeyDto {
  const list = (text: string | undefined) => text?.split(',').map((item) => item.trim());
  const given: JsonObject = {
    owner: values.owner ?? '',
    scopes: list(values.scopes) ?? [],
    tools: withoutAbsent({ allow: list(values['allow-tools']), deny: list(values['deny-tools']) }),
    ...withoutAbsent({
      name: values.name,
      roles: list(values.roles),
      models: list(values.models),
      limits: numbersOf(values, ['turns', 'requests-per-minute', 'tokens-per-minute']),
      budgets: numbersOf(values, ['day-usd', 'month-usd']),
      expires_at: values['expires-at'],
    }),
  };
  const dto = plainToInstance(CreateKeyDto, given);
  const [error] = validateSync(dto, { whitelist: true, forbidNonWhitelisted: true });
  if (error === undefined) return dto;
  const problem = Object.values(error.constraints ?? error.children?.[0]?.constraints ?? {})[0];
  throw new UsageError(problem ?? `${error.property} is not valid`, 'keys');
}

function withoutAbsent(members: Record<string, JsonObject | string | string[] | undefined>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JsonObject;
}

function printMade({ key, stored }: { key: string; stored: StoredKey }, json: boolean): void {
  if (json) console.log(JSON.stringify({ ...showKey(stored), key }));
  else console.log(`${lineOf(stored)}\n\n  ${key}\n\nThis key is shown once. Keep it like a password.`);
}

function lineOf({ id, prefix, owner, name, scopes, expiresAt, lastUsedAt, revokedAt }: StoredKey): string {
  const state = revokedAt !== null ? 'revoked' : expiresAt === null ? 'in force' : `expires ${expiresAt.toISOString()}`;
  const used = lastUsedAt === null ? 'never used' : `used ${lastUsedAt.toISOString()}`;
  return [id, `${prefix}…`, owner, scopes.join(','), state, used, ...(name === null ? [] : [name])].join('  ');
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return 2;
  if (error instanceof AppError) return error.code === 'store_unavailable' ? 3 : 1;
  return 3;
}

/** Those that are given, by their names in a key; undefined if none is. */
function numbersOf(values: Values, names: readonly (keyof Values)[]): Record<string, number> | undefined {
  const given = names.filter((name) => values[name] !== undefined);
  if (given.length === 0) return undefined;
  return Object.fromEntries(
    given.map((name) => {
      const number = Number(values[name]);
      if (Number.isNaN(number)) throw new UsageError(`--${name} must be a number, got ${String(values[name])}`, 'keys');
      return [name.replaceAll('-', '_'), number];
    }),
  );
}
