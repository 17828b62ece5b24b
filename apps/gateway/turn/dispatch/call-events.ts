// Emits events of running calls to a reader that may be slow.
import type { Flow } from '#libs/concurrency/flow.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';

/** While the reader is slow, only the newest progress of each call stays pending. */
export class CallEvents {
  /** Set while the reader is slow; resolves when no event is pending any more. */
  drained: Promise<void> | undefined;
  private pending: TurnEvent[] = [];

  constructor(private readonly emit: (events: readonly TurnEvent[]) => Flow) {}

  add(event: TurnEvent): void {
    if (this.drained === undefined) return this.pass([event]);
    if (event.type === 'tool_progress') {
      const before = this.pending.findLastIndex((each) => each.type === event.type && each.callId === event.callId);
      if (before !== -1) this.pending.splice(before, 1);
    }
    this.pending.push(event);
  }

  private pass(events: TurnEvent[]): void {
    const flow = this.emit(events);
    if (flow instanceof Promise) this.drained = this.passPending(flow);
  }

  private async passPending(flow: Flow): Promise<void> {
    await flow;
    while (this.pending.length > 0) await this.emit(this.pending.splice(0));
    this.drained = undefined;
  }
}
