// A process's connections to PostgreSQL: a bounded pool for statements, and single connections for LISTEN. Every statement
// has a deadline in the caller, the driver and the server. Knows no tables.
import pg from 'pg';
import type { Logger } from '#libs/logging/logger.js';
import { type Answering, storeUnavailable, withinDeadline } from '#libs/store-error/store-error.js';
import { clientConfig, type ConnectionSettings } from './connection.js';

export interface PoolSettings extends ConnectionSettings {
  poolSize: number;
  /** How long a connection may be idle before it is closed, ms. */
  idleMs: number;
  /** The name under which a statement is prepared on each connection; '' prepares none. Default: a name per text. */
  nameOf?: (text: string) => string;
  logger?: Pick<Logger, 'debug'>;
}

export class PostgresPool implements Answering {
  readonly timeoutMs: number;
  answeredAt = 0;
  /** For libraries with their own deadlines. */
  readonly pool: pg.Pool;
  private readonly config: pg.ClientConfig;
  private readonly clients = new Set<pg.Client>();
  private readonly names = new Map<string, string>();
  private readonly nameOf: (text: string) => string;
  private closing: Promise<void> | undefined;

  constructor(private readonly settings: PoolSettings) {
    this.timeoutMs = settings.timeoutMs;
    this.nameOf = settings.nameOf ?? ((text) => this.ownNameOf(text));
    this.config = clientConfig(settings);
    this.pool = new pg.Pool({
      ...this.config,
      max: settings.poolSize,
      idleTimeoutMillis: settings.idleMs,
      // An idle pool must not keep the process alive.
      allowExitOnIdle: true,
    });
    // A connection that breaks while idle leaves the pool; the next statement opens another.
    this.pool.on('error', (error) => this.debug(error, 'An idle database connection was lost'));
    this.pool.on('connect', (client) => this.clients.add(client as unknown as pg.Client));
    this.pool.on('remove', (client) => this.clients.delete(client as unknown as pg.Client));
  }

  run<Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[],
    signal?: AbortSignal,
  ): Promise<pg.QueryResult<Row>> {
    return withinDeadline(this.timeoutMs, signal, () => this.runRaw<Row>(text, values));
  }

  /** Runs without the port's deadline, for callers that retry (the queue's loop). The driver's read timeout applies. */
  runRaw<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<pg.QueryResult<Row>> {
    // With a callback, the driver makes no promises of its own.
    return new Promise((resolve, reject) => {
      if (this.closing !== undefined) return reject(storeUnavailable('The store is closed'));
      const query = { name: this.nameOf(text), text, values: [...values] };
      this.pool.query(query, (error: Error | undefined, result: pg.QueryResult<Row>) => {
        if (error) return reject(error);
        this.answeredAt = performance.now();
        resolve(result);
      });
    });
  }

  /** A connection outside the pool, for LISTEN. End it with `endClient`; `close` cuts it. */
  async openClient(): Promise<pg.Client> {
    if (this.closing !== undefined) throw storeUnavailable('The store is closed');
    const client = new pg.Client(this.config);
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
    // A library may have removed all listeners, and an `error` event without a listener would end the process.
    this.watch(client);
    await withinDeadline(this.timeoutMs, undefined, () => client.end()).catch(() => destroy(client));
    this.clients.delete(client);
  }

  private watch(client: pg.Client): void {
    client.on('error', (error) => this.debug(error, 'A database connection was lost'));
    client.once('end', () => this.clients.delete(client));
  }

  /** A session whose statements may take a minute: only for the schema, which may wait for another process. */
  async inSchemaSession(work: (client: pg.Client) => Promise<void>): Promise<void> {
    const client = new pg.Client({ ...this.config, query_timeout: 60_000 });
    client.on('error', (error) => this.debug(error, 'A database connection was lost'));
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

  /** Waits for running statements up to the deadline, then cuts the rest. */
  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    await withinDeadline(this.timeoutMs, undefined, () => this.pool.end()).catch((error: unknown) =>
      this.debug(error, 'Database connections are cut'),
    );
    for (const client of this.clients) destroy(client);
    this.clients.clear();
  }

  private ownNameOf(text: string): string {
    let name = this.names.get(text);
    if (name === undefined) {
      name = `signalbox_${this.names.size}`;
      this.names.set(text, name);
    }
    return name;
  }

  private debug(error: unknown, message: string): void {
    this.settings.logger?.debug({ error }, message);
  }
}

/** Cuts a connection without a closing handshake, which a silent server would not answer. */
export function destroy(client: pg.Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
