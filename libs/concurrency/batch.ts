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

class Waiting<Item, Result> {
  readonly answer: Promise<Result>;
  resolve!: (result: Result) => void;
  reject!: (error: unknown) => void;

  constructor(
    readonly item: Item,
    readonly size: number,
    /** The time, by `performance.now()`, after which it is too late for its batch to begin. */
    readonly until: number,
  ) {
    this.answer = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}

export class Batch<Item, Result = void> {
  private readonly waiting: Waiting<Item, Result>[] = [];
  private readonly flights = new Set<Promise<void>>();
  private waitingSize = 0;
  private scheduled = false;
  private closed = false;

  constructor(private readonly rules: BatchRules<Item, Result>) {}

  /** Resolves with the item's result. @throws a `refusal`, or what `flush` threw */
  submit(item: Item): Promise<Result> {
    const { maxWaiting, maxWaitingSize = Infinity, maxWaitMs, refusal, sizeOf } = this.rules;
    if (this.closed) return Promise.reject(refusal('closed'));
    const size = sizeOf?.(item) ?? 0;
    const full = this.waiting.length >= maxWaiting || this.waitingSize + size > maxWaitingSize;
    if (full && this.waiting.length > 0) return Promise.reject(refusal('full'));
    const until = maxWaitMs === undefined ? Infinity : performance.now() + maxWaitMs;
    const waiting = new Waiting<Item, Result>(item, size, until);
    this.waiting.push(waiting);
    this.waitingSize += size;
    this.scheduleNext();
    return waiting.answer;
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
    await Promise.allSettled([...this.flights, ...this.waiting.map(({ answer }) => answer)]);
  }

  /** Like `settle`, and refuses further items. */
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
    return this.rules.oneByOne && this.flights.size > 0;
  }

  private begin(): void {
    while (this.waiting.length > 0 && !this.isHeld) {
      const batch = this.take();
      if (batch.length === 0) continue;
      const flight = this.fly(batch).then(() => {
        this.flights.delete(flight);
        this.scheduleNext();
      });
      this.flights.add(flight);
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

  private async fly(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.rules.flush(itemsOf(batch));
      for (let index = 0; index < batch.length; index += 1) batch[index]!.resolve(results?.[index] as Result);
    } catch (error) {
      if (batch.length > 1 && this.rules.triesAlone?.(error) === true) {
        for (const each of batch) await this.fly([each]);
      } else {
        for (const each of batch) each.reject(error);
      }
    }
  }
}

const itemsOf = <Item>(batch: readonly { item: Item }[]): Item[] => batch.map(({ item }) => item);
