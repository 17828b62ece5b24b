// Lets concurrent writes of one kind share a statement and its commit; readings may share one
// too. Writes at once while idle; what comes during a write goes out together after it. Refuses what does not fit into its
// queue or its time.
import { Batch } from '#libs/concurrency/batch.js';
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

const defaults = {
  maxRows: 256,
  maxCharacters: 4 * 1024 * 1024,
  maxQueued: 20_000,
  maxQueuedCharacters: 64 * 1024 * 1024,
  timeoutMs: 2_000,
};

export class GroupCommit<Row, Result> {
  private readonly batch: Batch<Row, Result>;
  private readonly timeoutMs: number;

  constructor(
    private readonly write: WriteRows<Row, Result>,
    given: Partial<GroupCommitBounds<Row>> = {},
  ) {
    const bounds = { charactersOf: textLength, ...defaults, ...given };
    this.timeoutMs = bounds.timeoutMs;
    this.batch = new Batch({
      flush: (rows) => this.writeInTime(rows),
      // What one turn of the event loop brings goes together, though the answers that lead to it come one by one.
      schedule: setImmediate,
      oneByOne: true,
      maxItems: bounds.maxRows,
      maxSize: bounds.maxCharacters,
      sizeOf: bounds.charactersOf,
      maxWaiting: bounds.maxQueued,
      maxWaitingSize: bounds.maxQueuedCharacters,
      maxWaitMs: bounds.timeoutMs,
      refusal: (why) => (why === 'late' ? unanswered() : storeUnavailable('Too many writes wait')),
      triesAlone: isOneRowsFault,
    });
  }

  /** @throws AppError store_unavailable; whatever `write` throws for this row alone. */
  submit(row: Row): Promise<Result> {
    return this.batch.submit(row);
  }

  private async writeInTime(rows: readonly Row[]): Promise<readonly Result[]> {
    const begun = performance.now();
    try {
      return await this.write(rows);
    } catch (error) {
      // The store hangs: nobody waits for a second deadline behind this one.
      if (performance.now() - begun >= this.timeoutMs / 2) this.batch.refuseWaiting(unanswered(error));
      throw toDatabaseError(error);
    }
  }
}

const unanswered = (cause?: unknown) => storeUnavailable('The store did not answer in time', cause);

/** Bad data and broken constraints; deadlocks too, which single rows do not have. */
function isOneRowsFault(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === '40P01' || state === '40001' || toDatabaseError(error).code !== 'store_unavailable';
}

const textLength = (row: unknown): number => (typeof row === 'string' ? row.length : 0);
