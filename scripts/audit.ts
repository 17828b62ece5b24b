// `signalbox audit verify` tells whether the audit is as it was written; `proof` writes the proof of one row to stdout, and `prove`
// checks such a file without a database; `export` writes the audit to stdout; `prune` drops months of an age of
// audit.retention_days, where gateways are not the owner of its tables and cannot.
// Exit codes: 0 done, 1 the audit or a proof is not as it was written, 2 wrong usage, 3 the database does not answer.
import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AuditLog, type AuditFilter } from '#libs/audit/audit-log.js';
import { AuditKeeper } from '#libs/audit/chain/audit-keeper.js';
import { readPublicKey, readSigningKey } from '#libs/audit/chain/checkpoint.js';
import { type Verification, verifyAudit } from '#libs/audit/chain/verify-audit.js';
import { proveRow } from '#libs/audit/proof/prove-row.js';
import { type AuditFormat, auditFormats, exportAudit } from '#libs/audit/export-audit.js';
import { ConfigError } from '#libs/config/config-error.js';
import { loadConfig } from '#libs/config/load-config.js';
import type { Config } from '#libs/config/schema.js';
import type { LogFields } from '#libs/logging/logger.js';
import type { Database } from '#libs/postgres/open-database.js';
import { AppError } from '#libs/schemas/errors.js';
import { readArguments, UsageError } from './cli/usage-error.js';
import { tellProof } from './audit/tell-proof.js';
import { withStore } from './with-store.js';

/** The time of one statement: a page of rows that are read and hashed again. */
const timeoutMs = 60_000;
const print = ({ metadata }: LogFields, message: string) => console.log(`${message}: ${JSON.stringify(metadata)}`);
const onConsole = { info: print, warn: print, error: print };
const units: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

try {
  await main();
} catch (error) {
  const misunderstood = error instanceof UsageError || error instanceof ConfigError;
  // Whoever reads has read enough.
  if ((error as { code?: string }).code !== 'EPIPE') {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = misunderstood ? 2 : isUnprovable(error) ? 1 : 3;
  }
}

type Values = ReturnType<typeof read>['values'];

function isUnprovable(error: unknown): boolean {
  return error instanceof AppError && error.code === 'audit_unprovable';
}

async function main(): Promise<void> {
  const { positionals, values } = read();
  const [command, ...more] = positionals;
  if (command === undefined) throw new UsageError('No command was given', 'audit');
  if (command === 'prove') return tellProof(more, values['public-key'] ?? []);
  const works: Record<string, typeof verifyWith> = { verify: verifyWith, export: exportWith, prune: pruneWith };
  const work = command === 'proof' ? proofWith(more) : works[command];
  if (work === undefined || (more.length > 0 && command !== 'proof'))
    throw new UsageError(`'${[command, ...more].join(' ')}' is not a command`, 'audit');
  const config = command === 'prune' ? asOwner(loadConfig()) : loadConfig();
  await withStore(config, { applicationName: 'audit', timeoutMs }, work(values, config));
}

function read() {
  const text = { type: 'string' } as const;
  return readArguments('audit', {
    allowPositionals: true,
    options: {
      since: text,
      until: text,
      session: text,
      principal: text,
      tool: text,
      outcome: text,
      kind: text,
      run: text,
      text,
      format: text,
      'public-key': { type: 'string', multiple: true },
    },
  });
}

/** Understood before the database is opened. */
function verifyWith(values: Values, config: Config): (database: Database) => Promise<void> {
  const own = config.audit.signing_key;
  const publicKeys = [
    ...(own === undefined ? [] : [own]),
    ...(values['public-key'] ?? []).map((path) => readFileSync(path, 'utf8')),
  ].map((pem) => {
    const key = readPublicKey(pem);
    if (key === undefined) throw new UsageError('--public-key must be an Ed25519 key in PEM');
    return key;
  });
  const since = readTime(values.since);
  return async (database) => {
    const result = await verifyAudit(database, { publicKeys, ...(since === undefined ? {} : { since }) });
    tell(result, publicKeys.length > 0);
  };
}

function tell({ rows, checkpoints, breaks, problems, last }: Verification, signed: boolean): void {
  const [first] = breaks;
  if (first !== undefined) {
    console.log(`first broken row: ${first.id} of ${first.at.toISOString()}: ${first.problem}`);
    if (breaks.length > 1) console.log(`${breaks.length} problems with rows in total`);
  }
  for (const problem of problems) console.log(problem);
  const signatures = signed ? 'signatures verified' : 'signatures not looked at: no key';
  console.log(`${rows} rows and ${checkpoints} checkpoints read, ${signatures}`);
  if (last !== undefined) console.log(`last checkpoint: ${last.number} ${last.hash}`);
  if (first !== undefined || problems.length > 0) process.exitCode = 1;
}

function exportWith(values: Values): (database: Database) => Promise<void> {
  const { session, principal, tool, outcome, kind, run, text } = values;
  const format = (values.format ?? 'ndjson') as AuditFormat;
  if (!auditFormats.includes(format)) throw new UsageError(`--format must be ${auditFormats.join(' or ')}`, 'audit');
  const filter: AuditFilter = {
    since: readTime(values.since),
    until: readTime(values.until),
    session,
    principal,
    tool,
    outcome,
    kind,
    run,
    text,
  };
  return async (database) => {
    const rows = new AuditLog(database).all(filter, new AbortController().signal);
    await pipeline(Readable.from(exportAudit(rows, format)), process.stdout, { end: false });
  };
}

/** Makes no checkpoint: gateways do. */
function proofWith([id, ...more]: string[]): typeof verifyWith {
  if (id === undefined || more.length > 0) throw new UsageError('proof wants the id of one row', 'audit');
  return (_values, config) => {
    const { signing_key: key } = config.audit;
    const publicKey = key === undefined ? undefined : readPublicKey(key);
    return async (database) => console.log(JSON.stringify(await proofOf(database, id, publicKey), null, 1));
  };
}

async function proofOf(database: Database, id: string, publicKey: KeyObject | undefined) {
  try {
    return await proveRow(database, id, { publicKey });
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') throw new UsageError(error.message);
    throw error;
  }
}

function asOwner(config: Config): Config {
  const { database } = config;
  database.url = database.owner_url ?? database.url;
  return config;
}

function pruneWith(_values: Values, config: Config): (database: Database) => Promise<void> {
  const { retention_days: retentionDays, signing_key: key } = config.audit;
  if (retentionDays === undefined) throw new UsageError('audit.retention_days is not set');
  const { url } = config.database;
  return async (database) => {
    if (url === undefined) throw new UsageError('with an embedded database, the gateways drop old months themselves');
    const connection = { url, timeoutMs, applicationName: 'audit' };
    const signingKey = key === undefined ? undefined : readSigningKey(key);
    await new AuditKeeper({ database, connection, retentionDays, key: signingKey, logger: onConsole }).dropExpired();
  };
}

function readTime(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const time = unit === undefined ? new Date(text) : new Date(Date.now() - Number(amount) * units[unit]!);
  if (Number.isNaN(time.getTime())) throw new UsageError(`'${text}' is not a time`, 'audit');
  return time;
}
