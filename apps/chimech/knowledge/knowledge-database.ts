// The connections of a knowledge base. Its statements are planned for their values each time: how many rows a word or a
// filter finds differs too much. One process of the server works for each, so that equal searches find equal hits.
import type pg from 'pg';
import { PostgresPool } from '#libs/postgres/pool.js';
import { toDatabaseError } from '#libs/postgres/postgres-error.js';

export interface KnowledgeDatabaseOptions {
  url: string;
  /** Of each statement, ms. */
  timeoutMs: number;
  poolSize?: number;
}

export class KnowledgeDatabase {
  private readonly pool: PostgresPool;

  constructor({ url, timeoutMs, poolSize = 2 }: KnowledgeDatabaseOptions) {
    this.pool = new PostgresPool({
      url,
      timeoutMs,
      poolSize,
      idleMs: 60_000,
      applicationName: 'chimech knowledge',
      set: { jit: 'off', max_parallel_workers_per_gather: 0, plan_cache_mode: 'force_custom_plan' },
      nameOf: () => '',
    });
  }

  /** @throws AppError store_unavailable or internal_error; the signal's reason */
  async rows<Row extends pg.QueryResultRow>(
    statement: string,
    values: readonly unknown[],
    signal: AbortSignal,
  ): Promise<Row[]> {
    try {
      return (await this.pool.run<Row>(statement, values, signal)).rows;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw toDatabaseError(error);
    }
  }

  close(): Promise<void> {
    return this.pool.close();
  }
}
