// Combines concurrent writes of one kind into one statement and commit; reads can be combined too. Writes immediately while
// idle; rows that arrive during a write form the next write. Refuses rows beyond its queue or time bound.
import { Batch } from '#libs/concurrency/batch.js';
import { sqlStateOf, storeUnavailable } from '#libs/store-error/store-error.js';
import { toDatabaseError } from './postgres-error.js';

export type WriteRows<Row, Result> = (rows: readonly Row[]) => Promise<readonly Result[]>;

export interface GroupCommitBounds<Row> {
  maxRows: number;
  /** Maximum characters of a statement's rows; a larger row goes alone. */
  maxCharacters: number;
  maxQueuedCharacters: number;
  /** The size of a row; by default the length of a text row. */
  charactersOf: (row: Row) => number;
  /** Maximum waiting rows; more are refused with store_unavailable. */
  maxQueued: number;
  /** How long a row may wait for its statement to begin, ms. The statement has its own deadline. */
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
      // Combines rows of one turn of the event loop, even if the answers that trigger them arrive one by one.
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

  /** @throws AppError store_unavailable, or what `write` throws for this row alone */
  submit(row: Row): Promise<Result> {
    return this.batch.submit(row);
  }

  private writeInTime(rows: readonly Row[]): Promise<readonly Result[]> {
    const begun = performance.now();
    return this.write(rows).catch((error: unknown) => {
      // The store hangs, so nobody should wait for a second deadline after this one.
      if (performance.now() - begun >= this.timeoutMs / 2) this.batch.refuseWaiting(unanswered(error));
      throw toDatabaseError(error);
    });
  }
}

const unanswered = (cause?: unknown) => storeUnavailable('The store did not answer in time', cause);

/** Bad data and violated constraints, and deadlocks, which cannot occur with single rows. */
function isOneRowsFault(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === '40P01' || state === '40001' || toDatabaseError(error).code !== 'store_unavailable';
}

const textLength = (row: unknown): number => (typeof row === 'string' ? row.length : 0);
