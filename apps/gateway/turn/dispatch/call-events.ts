// Passes events of running calls to a reader that may be slow.
import type { Flow } from '#libs/concurrency/flow.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';

/** While the reader is slow, only the newest progress of each call is kept. */
export class CallEvents {
  /** Set while the reader is slow. */
  told: Promise<void> | undefined;
  private waiting: TurnEvent[] = [];

  constructor(private readonly tell: (events: readonly TurnEvent[]) => Flow) {}

  add(event: TurnEvent): void {
    if (this.told === undefined) return this.pass([event]);
    if (event.type === 'tool_progress') {
      const before = this.waiting.findLastIndex((each) => each.type === event.type && each.callId === event.callId);
      if (before !== -1) this.waiting.splice(before, 1);
    }
    this.waiting.push(event);
  }

  private pass(events: TurnEvent[]): void {
    const flow = this.tell(events);
    if (flow instanceof Promise) this.told = this.passWaiting(flow);
  }

  private async passWaiting(flow: Flow): Promise<void> {
    await flow;
    while (this.waiting.length > 0) await this.tell(this.waiting.splice(0));
    this.told = undefined;
  }
}
