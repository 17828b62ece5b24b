// An iteration whose first step is taken before anybody reads it, and no step more.

export class EagerIteration<Item> implements AsyncIterableIterator<Item> {
  private readonly items: AsyncIterator<Item>;
  private first: Promise<IteratorResult<Item>> | undefined;

  constructor(items: AsyncIterable<Item>) {
    this.items = items[Symbol.asyncIterator]();
    this.first = this.items.next();
    // Whoever reads it is told; nobody may.
    this.first.catch(() => undefined);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Item>> {
    const { first } = this;
    this.first = undefined;
    return first ?? this.items.next();
  }

  /** After the step that is under way. */
  async return(): Promise<IteratorResult<Item>> {
    await this.items.return?.();
    return { done: true, value: undefined };
  }
}
