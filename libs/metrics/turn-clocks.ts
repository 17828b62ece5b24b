// How long a turn waited for models and tools, so that its own time can be measured. Overlapping calls count once.

class TurnClock {
  private running = 0;
  private since = 0;
  private busy = 0;

  constructor(
    private readonly clocks: Map<string, TurnClock>,
    private readonly runId: string,
  ) {
    clocks.set(runId, this);
  }

  busyMs(): number {
    return this.busy + (this.running > 0 ? performance.now() - this.since : 0);
  }

  close(): void {
    this.clocks.delete(this.runId);
  }

  enter(): () => void {
    if (++this.running === 1) this.since = performance.now();
    let left = false;
    return () => {
      if (left) return;
      left = true;
      if (--this.running === 0) this.busy += performance.now() - this.since;
    };
  }
}

const nothing = () => undefined;

export class TurnClocks {
  private readonly clocks = new Map<string, TurnClock>();

  open(runId: string): Pick<TurnClock, 'busyMs' | 'close'> {
    return new TurnClock(this.clocks, runId);
  }

  /** Something else works for this turn until the returned function is called. Work for no turn is not counted. */
  enter(runId: string | undefined): () => void {
    return (runId === undefined ? undefined : this.clocks.get(runId))?.enter() ?? nothing;
  }
}
