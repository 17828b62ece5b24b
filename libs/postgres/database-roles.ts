// The two roles of a deployment whose database has an owner of its own: the application, which can add rows to the audit but
// neither change nor remove them, and a reader of the audit alone. Each run grants all rights again, so that they cover the
// tables that migrations have added.
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import pg from 'pg';
import { ConfigError } from '#libs/config/config-error.js';
import { sqlStateOf } from '#libs/store-error/store-error.js';
import { clientConfig } from './connection.js';
import { migrationLock, notAllowed } from './migrate.js';
import { toConnectError, toDatabaseError } from './postgres-error.js';

export interface DatabaseRoles {
  /** Addresses with the names and passwords that the roles get. */
  applicationUrl: string;
  readerUrl?: string | undefined;
}

interface Table {
  schema: string;
  name: string;
  kind: 'r' | 'p' | 'S';
  partition: boolean;
}

const anyTable = 'select, insert, update, delete';
/** Tables with fewer rights for the application. Partitions of the audit are used only through the audit's table. */
const applicationMay: Record<string, string> = {
  audit_events: 'select, insert',
  audit_events_default: 'select',
  audit_checkpoints: 'select, insert',
  audit_chains: 'select, insert, update',
  _prisma_migrations: 'select',
};
const readerMay: Record<string, string> = { audit_events: 'select', audit_checkpoints: 'select' };
/** The schemas of the queue, counters and cache, if they are in PostgreSQL. */
const otherSchemas = ['signalbox_backing', 'bullmq'];
const iterations = 4096;

/**
 * Creates or updates the roles, in one transaction.
 * @throws ConfigError if the owner may not, or an address has no name or password
 * @throws AppError store_unavailable if the database does not answer
 */
export async function grantRoles(ownerUrl: string, roles: DatabaseRoles, timeoutMs = 60_000): Promise<string[]> {
  const application = credentials('DATABASE_URL', roles.applicationUrl);
  const reader = roles.readerUrl === undefined ? undefined : credentials('DATABASE_READER_URL', roles.readerUrl);
  const client = new pg.Client(clientConfig({ url: ownerUrl, timeoutMs, applicationName: 'signalbox roles' }));
  client.on('error', () => undefined);
  try {
    await client.connect().catch((error: unknown) => {
      throw toConnectError(error, ownerUrl, 'DATABASE_OWNER_URL');
    });
    await client.query('begin');
    await client.query('select pg_advisory_xact_lock($1)', [migrationLock]);
    const tables = await readTables(client);
    await makeRole(client, application);
    await grant(client, application.name, tables, rightsOfApplication);
    await grantInFuture(client, application.name, tables);
    if (reader !== undefined) {
      await makeRole(client, reader);
      await client.query(`alter role ${pg.escapeIdentifier(reader.name)} set default_transaction_read_only = on`);
      await grant(client, reader.name, tables, ({ name }) => readerMay[name]);
    }
    await client.query('commit');
    return [application.name, ...(reader === undefined ? [] : [reader.name])];
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    if (sqlStateOf(error) === notAllowed) {
      const message = 'this user may not create roles, or does not own the tables (42501)';
      throw new ConfigError([{ key: 'DATABASE_OWNER_URL', message }]);
    }
    throw toDatabaseError(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

function rightsOfApplication({ name, kind, partition }: Table): string | undefined {
  if (kind === 'S') return 'usage, select';
  return applicationMay[name] ?? (partition ? undefined : anyTable);
}

interface Credentials {
  name: string;
  password: string;
}

function credentials(key: string, url: string): Credentials {
  const { username, password } = new URL(url);
  if (username === '' || password === '') {
    throw new ConfigError([{ key, message: 'needs a user and a password, which the role is given' }]);
  }
  return { name: decodeURIComponent(username), password: decodeURIComponent(password) };
}

/** The database gets a verifier, so that the password is in no statement and no log. */
async function makeRole(client: pg.Client, { name, password }: Credentials): Promise<void> {
  const { rows } = await client.query<{ own: boolean }>(
    'select rolname = current_user as own from pg_roles where rolname = $1',
    [name],
  );
  if (rows[0]?.own === true) {
    const message = `has the same user "${name}" as DATABASE_URL or DATABASE_READER_URL`;
    throw new ConfigError([{ key: 'DATABASE_OWNER_URL', message }]);
  }
  const verb = rows.length === 0 ? 'create' : 'alter';
  await client.query(
    `${verb} role ${pg.escapeIdentifier(name)} login password ${pg.escapeLiteral(scramVerifier(password))}`,
  );
}

async function readTables(client: pg.Client): Promise<Table[]> {
  const { rows } = await client.query<Table>(
    `select nspname as schema, relname as name, relkind as kind, relispartition as partition
     from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where relkind in ('r', 'p', 'S') and (nspname = current_schema() or nspname = any($1)) order by 1, 2`,
    [otherSchemas],
  );
  return rows;
}

async function grant(
  client: pg.Client,
  role: string,
  tables: readonly Table[],
  rightsOn: (table: Table) => string | undefined,
): Promise<void> {
  const to = pg.escapeIdentifier(role);
  for (const table of tables) {
    const name = `${pg.escapeIdentifier(table.schema)}.${pg.escapeIdentifier(table.name)}`;
    const object = table.kind === 'S' ? `sequence ${name}` : name;
    const rights = rightsOn(table);
    await client.query(`revoke all on ${object} from ${to}`);
    if (rights !== undefined) {
      await client.query(`grant usage on schema ${pg.escapeIdentifier(table.schema)} to ${to}`);
      await client.query(`grant ${rights} on ${object} to ${to}`);
    }
  }
}

/** The tables of the backing change with a new version's own start, not with a migration. */
async function grantInFuture(client: pg.Client, role: string, tables: readonly Table[]): Promise<void> {
  const to = pg.escapeIdentifier(role);
  for (const schema of otherSchemas.filter((each) => tables.some((table) => table.schema === each))) {
    const where = `alter default privileges in schema ${pg.escapeIdentifier(schema)}`;
    await client.query(`${where} grant ${anyTable} on tables to ${to}`);
    await client.query(`${where} grant usage, select on sequences to ${to}`);
  }
}

/** RFC 5803, as PostgreSQL stores it. */
function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, iterations, 32, 'sha256');
  const keyOf = (text: string) => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(keyOf('Client Key')).digest('base64');
  const serverKey = keyOf('Server Key').toString('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}
