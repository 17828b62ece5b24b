// Items that come together go together: in one statement, message or job. What waits is bounded, each item has its own
// answer. Not for Redis' commands and lines of the log: a driver and a stream hold those, and answer each themselves.

/** Why an item is not taken, or no longer waits: no room, no time, no more items. */
export type Refusal = 'full' | 'late' | 'closed';

export interface BatchRules<Item, Result> {
  /** Of one batch, in order. Its results stand in the order of the items; what it throws is said to each of them. */
  flush(items: readonly Item[]): Promise<readonly Result[] | undefined | void>;
  /** Calls back when what comes together has come: by `setImmediate`, `process.nextTick`, `queueMicrotask`. */
  schedule(callback: () => void): unknown;
  /** One batch at a time; what comes meanwhile goes together after it. Otherwise each begins at once. */
  oneByOne: boolean;
  /** Items of one batch. */
  maxItems?: number;
  /** Of one batch, by `sizeOf`; a single larger item goes alone. */
  maxSize?: number;
  /** Asked once, when the item comes. */
  sizeOf?(item: Item): number;
  /** Whether two may go in one batch. If not, the later one waits for another batch, and others pass it. */
  fits?(item: Item, other: Item): boolean;
  /** Items that wait for their batch to begin; more are refused. */
  maxWaiting: number;
  /** Of all that wait, by `sizeOf`; a single larger item is taken when nothing waits. */
  maxWaitingSize?: number;
  /** How long an item may wait for its batch to begin. */
  maxWaitMs?: number;
  refusal(why: Refusal): Error;
  /** After this failure of several, each is tried alone, one after the other. */
  triesAlone?(error: unknown): boolean;
}

class Waiting<Item, Result> {
  readonly answer: Promise<Result>;
  resolve!: (result: Result) => void;
  reject!: (error: unknown) => void;

  constructor(
    readonly item: Item,
    readonly size: number,
    /** `performance.now()` after which its batch comes too late. */
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

  /** Nobody who waits for a batch gets one. */
  refuseWaiting(error: Error): void {
    this.waitingSize = 0;
    for (const each of this.waiting.splice(0)) each.reject(error);
  }

  /** Resolves when what was submitted before has its answer. What may begin does so at once. */
  async settle(): Promise<void> {
    this.begin();
    await Promise.allSettled([...this.flights, ...this.waiting.map(({ answer }) => answer)]);
  }

  /** As `settle`; further items are refused. */
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
