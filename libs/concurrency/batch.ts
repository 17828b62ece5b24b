// Combines items that arrive together into one statement, message or job. Waiting items are bounded, and each gets its own
// result. Not for Redis commands or log lines, which the driver and the stream buffer themselves.

/** Why an item is refused, or stops waiting: no room, too late, or closed. */
export type Refusal = 'full' | 'late' | 'closed';

export interface BatchRules<Item, Result> {
  /** Handles one batch. Returns the results in the order of the items; an error applies to every item. */
  flush(items: readonly Item[]): Promise<readonly Result[] | undefined | void>;
  /** Calls back once all items that arrive together have arrived: `setImmediate`, `process.nextTick` or `queueMicrotask`. */
  schedule(callback: () => void): unknown;
  /** One batch at a time; items that arrive meanwhile form the next one. Otherwise batches overlap. */
  oneByOne: boolean;
  /** Maximum items of one batch. */
  maxItems?: number;
  /** Maximum size of one batch, by `sizeOf`; a larger item goes alone. */
  maxSize?: number;
  /** Called once per item, when it arrives. */
  sizeOf?(item: Item): number;
  /** Whether two items may share a batch. If not, the later one waits for another batch, and others may overtake it. */
  fits?(item: Item, other: Item): boolean;
  /** Maximum items waiting for their batch to begin; more are refused. */
  maxWaiting: number;
  /** Maximum size of all waiting items, by `sizeOf`; a larger item is accepted only when nothing waits. */
  maxWaitingSize?: number;
  /** How long an item may wait for its batch to begin. */
  maxWaitMs?: number;
  refusal(why: Refusal): Error;
  /** If a batch fails with this error, its items are retried alone, one after the other. */
  triesAlone?(error: unknown): boolean;
}

interface Waiting<Item, Result> {
  item: Item;
  size: number;
  /** The time, by `performance.now()`, after which it is too late for its batch to begin. */
  until: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

const unheard = (): void => undefined;

export class Batch<Item, Result = void> {
  private readonly waiting: Waiting<Item, Result>[] = [];
  private readonly flying = new Set<readonly Waiting<Item, Result>[]>();
  private waitingSize = 0;
  private scheduled = false;
  private closed = false;

  constructor(private readonly rules: BatchRules<Item, Result>) {}

  /** Resolves with the item's result. @throws a `refusal`, or what `flush` threw */
  submit(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const refusal = this.push(item, resolve, reject);
      if (refusal !== undefined) reject(refusal);
    });
  }

  /** Like `submit`, without a promise, for those that need no answer. Returns the refusal, if it is refused at once. */
  push(
    item: Item,
    resolve: (result: Result) => void = unheard,
    reject: (error: unknown) => void = unheard,
  ): Error | undefined {
    const { maxWaiting, maxWaitingSize = Infinity, maxWaitMs, refusal, sizeOf } = this.rules;
    if (this.closed) return refusal('closed');
    const size = sizeOf?.(item) ?? 0;
    const full = this.waiting.length >= maxWaiting || this.waitingSize + size > maxWaitingSize;
    if (full && this.waiting.length > 0) return refusal('full');
    const until = maxWaitMs === undefined ? Infinity : performance.now() + maxWaitMs;
    this.waiting.push({ item, size, until, resolve, reject });
    this.waitingSize += size;
    this.scheduleNext();
    return undefined;
  }

  get isWaiting(): boolean {
    return this.waiting.length > 0;
  }

  /** Rejects all items that wait for a batch. */
  refuseWaiting(error: Error): void {
    this.waitingSize = 0;
    for (const each of this.waiting.splice(0)) each.reject(error);
  }

  /** Resolves when everything submitted before has its result. Starts whatever can start immediately. */
  async settle(): Promise<void> {
    this.begin();
    await Promise.all([...this.flying, this.waiting].flat().map(settled));
  }

  /** Refuses further items, and settles the others. */
  close(): Promise<void> {
    this.closed = true;
    return this.settle();
  }

  private scheduleNext(): void {
    if (this.scheduled || this.waiting.length === 0 || this.isHeld) return;
    this.scheduled = true;
    this.rules.schedule(this.onSchedule);
  }

  private readonly onSchedule = (): void => {
    this.scheduled = false;
    this.begin();
  };

  private get isHeld(): boolean {
    return this.rules.oneByOne && this.flying.size > 0;
  }

  private begin(): void {
    while (this.waiting.length > 0 && !this.isHeld) {
      const batch = this.take();
      if (batch.length === 0) continue;
      this.flying.add(batch);
      this.fly(batch, () => {
        this.flying.delete(batch);
        this.scheduleNext();
      });
    }
  }

  private take(): Waiting<Item, Result>[] {
    const { maxItems = Infinity, maxSize = Infinity, maxWaitMs, fits, refusal } = this.rules;
    const now = maxWaitMs === undefined ? 0 : performance.now();
    const batch: Waiting<Item, Result>[] = [];
    const passed: Waiting<Item, Result>[] = [];
    let looked = 0;
    let size = 0;
    for (const each of this.waiting) {
      if (batch.length === maxItems) break;
      if (each.until < now) {
        this.waitingSize -= each.size;
        each.reject(refusal('late'));
      } else if (batch.length > 0 && fits !== undefined && !batch.every(({ item }) => fits(each.item, item))) {
        passed.push(each);
      } else if (batch.length > 0 && size + each.size > maxSize) {
        break;
      } else {
        size += each.size;
        batch.push(each);
      }
      looked += 1;
    }
    this.waiting.splice(0, looked, ...passed);
    this.waitingSize -= size;
    return batch;
  }

  /** Calls `landed` when each item has its result. */
  private fly(batch: readonly Waiting<Item, Result>[], landed: () => void): void {
    this.flush(itemsOf(batch)).then(
      (results) => {
        for (let index = 0; index < batch.length; index += 1) batch[index]!.resolve(results?.[index] as Result);
        landed();
      },
      (error: unknown) => {
        if (batch.length > 1 && this.rules.triesAlone?.(error) === true) return this.flyAlone(batch, 0, landed);
        for (const each of batch) each.reject(error);
        landed();
      },
    );
  }

  private flyAlone(batch: readonly Waiting<Item, Result>[], index: number, landed: () => void): void {
    if (index === batch.length) return landed();
    this.fly([batch[index]!], () => this.flyAlone(batch, index + 1, landed));
  }

  private flush(items: readonly Item[]): ReturnType<BatchRules<Item, Result>['flush']> {
    try {
      return this.rules.flush(items);
    } catch (error) {
      return Promise.reject(error);
    }
  }
}

const itemsOf = <Item>(batch: readonly { item: Item }[]): Item[] => batch.map(({ item }) => item);

/** Resolves when it has its result or its error. */
const settled = <Item, Result>(waiting: Waiting<Item, Result>): Promise<void> =>
  new Promise((done) => {
    const { resolve, reject } = waiting;
    waiting.resolve = (result) => {
      resolve(result);
      done();
    };
    waiting.reject = (error) => {
      reject(error);
      done();
    };
  });
