// Lets concurrent writes of one kind share a statement and its commit; readings may share one
// too. Writes at once while idle; what comes during a write goes out together after it. Refuses what does not fit into its
// queue or its time.
import { sqlStateOf, storeUnavailable } from '#libs/store-error/store-error.js';
import { toDatabaseError } from './postgres-error.js';

/** Writes all rows in one statement; results stand in the order of the rows. */
export type WriteRows<Row, Result> = (rows: readonly Row[]) => Promise<readonly Result[]>;

export interface GroupCommitBounds<Row> {
  /** Rows of one statement. */
  maxRows: number;
  /** Characters of one statement's rows; a single larger row goes alone. */
  maxCharacters: number;
  /** Characters of the rows that wait. */
  maxQueuedCharacters: number;
  /** Of a row; unless given, of one that is a text. */
  charactersOf: (row: Row) => number;
  /** Rows waiting for their statement; more are refused with store_unavailable. */
  maxQueued: number;
  /** How long a row may wait for its statement to begin, ms; the statement has a deadline of its own. */
  timeoutMs: number;
}

interface Waiting<Row, Result> {
  row: Row;
  since: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

const defaults = {
  maxRows: 256,
  maxCharacters: 4 * 1024 * 1024,
  maxQueued: 20_000,
  maxQueuedCharacters: 64 * 1024 * 1024,
  timeoutMs: 2_000,
};

export class GroupCommit<Row, Result> {
  private readonly queue: Waiting<Row, Result>[] = [];
  private readonly bounds: GroupCommitBounds<Row>;
  private queuedCharacters = 0;
  private writing = false;

  constructor(
    private readonly write: WriteRows<Row, Result>,
    bounds: Partial<GroupCommitBounds<Row>> = {},
  ) {
    this.bounds = { charactersOf: textLength, ...defaults, ...bounds };
  }

  /** @throws AppError store_unavailable; whatever `write` throws for this row alone. */
  submit(row: Row): Promise<Result> {
    const { maxQueued, maxQueuedCharacters, charactersOf } = this.bounds;
    const full = this.queue.length >= maxQueued || this.queuedCharacters + charactersOf(row) > maxQueuedCharacters;
    // A single row above the bound may still go when nothing waits.
    if (full && this.queue.length > 0) return Promise.reject(storeUnavailable('Too many writes wait'));
    this.queuedCharacters += charactersOf(row);
    return new Promise((resolve, reject) => {
      this.queue.push({ row, since: performance.now(), resolve, reject });
      if (!this.writing) void this.drain();
    });
  }

  private async drain(): Promise<void> {
    this.writing = true;
    while (this.queue.length > 0) {
      // What one turn of the event loop brings goes together, though the answers that lead to it come one by one.
      await new Promise(setImmediate);
      const oldest = performance.now() - this.bounds.timeoutMs;
      const batch: Waiting<Row, Result>[] = [];
      for (const waiting of this.takeBatch()) {
        if (waiting.since < oldest) waiting.reject(storeUnavailable('The store did not answer in time'));
        else batch.push(waiting);
      }
      if (batch.length > 0) await this.writeBatch(batch);
    }
    this.writing = false;
  }

  private takeBatch(): Waiting<Row, Result>[] {
    const { maxRows, maxCharacters, charactersOf } = this.bounds;
    let count = 0;
    let characters = 0;
    for (const { row } of this.queue) {
      characters += charactersOf(row);
      if (count === maxRows || (count > 0 && characters > maxCharacters)) break;
      count += 1;
    }
    const batch = this.queue.splice(0, count);
    for (const { row } of batch) this.queuedCharacters -= charactersOf(row);
    return batch;
  }

  private async writeBatch(batch: readonly Waiting<Row, Result>[]): Promise<void> {
    const begun = performance.now();
    try {
      const results = await this.write(batch.map(({ row }) => row));
      for (const [index, waiting] of batch.entries()) waiting.resolve(results[index]!);
    } catch (error) {
      if (performance.now() - begun >= this.bounds.timeoutMs / 2) this.refuseQueued(error);
      if (batch.length > 1 && isOneRowsFault(error)) {
        for (const waiting of batch) await this.writeBatch([waiting]);
      } else {
        for (const waiting of batch) waiting.reject(toDatabaseError(error));
      }
    }
  }

  /** The store hangs: nobody waits for a second deadline behind this one. */
  private refuseQueued(cause: unknown): void {
    this.queuedCharacters = 0;
    for (const waiting of this.queue.splice(0))
      waiting.reject(storeUnavailable('The store did not answer in time', cause));
  }
}

/** Bad data and broken constraints; deadlocks too, which single rows do not have. */
function isOneRowsFault(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === '40P01' || state === '40001' || toDatabaseError(error).code !== 'store_unavailable';
}

const textLength = (row: unknown): number => (typeof row === 'string' ? row.length : 0);
