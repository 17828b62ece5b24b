// From callbacks to an async iteration. Bounded: of events that replace each other (progress of one call) only the
// newest waits; the others are as many as the calls that make them.

export class EventQueue<Event> implements AsyncIterable<Event> {
  private readonly waiting: { event: Event; replaces: string | undefined }[] = [];
  private wake: (() => void) | undefined;
  private ended = false;
  private failure: { error: unknown } | undefined;

  /** `replaces`: an event of the same key that still waits is replaced once more than `keep` wait. */
  push(event: Event, replaces?: string): void {
    const keep = 64;
    if (replaces !== undefined && this.waiting.length >= keep) {
      const at = this.waiting.findLastIndex((each) => each.replaces === replaces);
      if (at >= 0) {
        this.waiting[at]!.event = event;
        return;
      }
    }
    this.waiting.push({ event, replaces });
    this.wake?.();
  }

  close(): void {
    this.ended = true;
    this.wake?.();
  }

  fail(error: unknown): void {
    this.failure = { error };
    this.close();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Event> {
    for (;;) {
      const next = this.waiting.shift();
      if (next !== undefined) {
        yield next.event;
      } else if (this.ended) {
        if (this.failure !== undefined) throw this.failure.error;
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
        this.wake = undefined;
      }
    }
  }
}
