// The connections of one process to the backing's PostgreSQL: a bounded pool for statements and single connections for
// LISTEN. Every statement has a deadline at the port, in the driver and on the server; nothing here waits for ever.
import pg from 'pg';
import type { Logger } from '#libs/logging/logger.js';
import { type Answering, storeUnavailable, withinDeadline } from '../store-error.js';
import { sessionUrl } from './session-url.js';

export interface DatabaseOptions {
  databaseUrl: string;
  /** Connections for statements. LISTEN takes up to three more (channels, common queue, a worker's own queue). */
  poolSize: number;
  /** Deadline of one port call. */
  timeoutMs: number;
  applicationName: string;
  logger: Logger;
}

/** Into an unlogged table: no disk waits for it. */
const writeOne = `insert into signalbox_backing.counter as c (key, total, expires_at)
values ('writable', 0, clock_timestamp() + interval '1 minute')
on conflict (key) do update set expires_at = excluded.expires_at`;

export class Database implements Answering {
  readonly timeoutMs: number;
  answeredAt = 0;
  private readonly pool: pg.Pool;
  private readonly clients = new Set<pg.Client>();
  private readonly statementNames = new Map<string, string>();
  private closing: Promise<void> | undefined;

  constructor(private readonly options: DatabaseOptions) {
    this.timeoutMs = options.timeoutMs;
    this.pool = new pg.Pool({
      ...this.clientOptions(),
      max: options.poolSize,
      idleTimeoutMillis: 30_000,
      // An idle pool must not hold a process that has nothing left to do.
      allowExitOnIdle: true,
    });
    this.pool.on('error', (error) => options.logger.debug({ error }, 'An idle database connection was lost'));
    this.pool.on('connect', (client) => this.clients.add(client as unknown as pg.Client));
    this.pool.on('remove', (client) => this.clients.delete(client as unknown as pg.Client));
  }

  private clientOptions(): pg.ClientConfig {
    const serverTimeoutMs = this.options.timeoutMs * 2;
    return {
      connectionString: sessionUrl(this.options.databaseUrl, {
        applicationName: this.options.applicationName,
        set: {
          search_path: 'bullmq,public',
          // What is queued or counted here may be lost with the server's last half second: the journal adds a planned
          // call again whose job is missing. Waiting for the disk at each step would double a call's way.
          synchronous_commit: 'off',
          statement_timeout: serverTimeoutMs,
        },
      }),
      connectionTimeoutMillis: this.options.timeoutMs,
      query_timeout: serverTimeoutMs + 500,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    };
  }

  /** Runs a statement within the deadline; the text is prepared once a connection. */
  run<Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[],
    signal?: AbortSignal,
  ): Promise<pg.QueryResult<Row>> {
    return withinDeadline(this.timeoutMs, signal, () => this.runRaw<Row>(text, values));
  }

  /** A server that may only be read, or has no room, still answers a question. */
  async ping(signal: AbortSignal): Promise<void> {
    await this.run(writeOne, [], signal);
  }

  /** Without the port's deadline: for callers that retry (the queue's own loop). Ends by the driver's read timeout. */
  async runRaw<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<pg.QueryResult<Row>> {
    if (this.closing !== undefined) throw storeUnavailable('The store is closed');
    const result = await this.pool.query<Row>({ name: this.statementName(text), text, values: [...values] });
    this.answeredAt = performance.now();
    return result;
  }

  /** A connection outside the pool, for LISTEN. End it with `endClient`; `close` cuts it. */
  async openClient(): Promise<pg.Client> {
    if (this.closing !== undefined) throw storeUnavailable('The store is closed');
    const client = new pg.Client(this.clientOptions());
    this.clients.add(client);
    this.watch(client);
    try {
      await client.connect();
    } catch (error) {
      this.clients.delete(client);
      destroy(client);
      throw error;
    }
    return client;
  }

  async endClient(client: pg.Client): Promise<void> {
    // Its user may have taken all listeners away: an error without one would end the process.
    this.watch(client);
    await withinDeadline(this.timeoutMs, undefined, () => client.end()).catch(() => destroy(client));
    this.clients.delete(client);
  }

  private watch(client: pg.Client): void {
    client.on('error', (error) => this.options.logger.debug({ error }, 'A database connection was lost'));
    client.once('end', () => this.clients.delete(client));
  }

  /** A session whose statements may take a minute: for the schema only, which may wait for another process. */
  async inSchemaSession(work: (client: pg.Client) => Promise<void>): Promise<void> {
    const client = new pg.Client({ ...this.clientOptions(), query_timeout: 60_000 });
    client.on('error', (error) => this.options.logger.debug({ error }, 'A database connection was lost'));
    try {
      await client.connect();
      await client.query('set statement_timeout = 55000');
      await work(client);
      await client.end();
    } catch (error) {
      destroy(client);
      throw error;
    }
  }

  /** Waits for statements under way up to the deadline, then cuts what is left. */
  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    await withinDeadline(this.timeoutMs, undefined, () => this.pool.end()).catch((error: unknown) =>
      this.options.logger.debug({ error }, 'Database connections are cut'),
    );
    for (const client of this.clients) destroy(client);
    this.clients.clear();
  }

  private statementName(text: string): string {
    let name = this.statementNames.get(text);
    if (name === undefined) {
      name = `signalbox_${this.statementNames.size}`;
      this.statementNames.set(text, name);
    }
    return name;
  }
}

/** Cuts a connection without a goodbye: a silent server would not answer one. */
export function destroy(client: pg.Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
