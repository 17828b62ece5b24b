// How long a turn was busy with others (models, tools), so that its own time can be told. Overlapping calls count once.

interface Clock {
  running: number;
  since: number;
  busyMs: number;
}

export class TurnClocks {
  private readonly clocks = new Map<string, Clock>();

  open(runId: string): { busyMs(): number; close(): void } {
    const clock: Clock = { running: 0, since: 0, busyMs: 0 };
    this.clocks.set(runId, clock);
    return {
      busyMs: () => clock.busyMs + (clock.running > 0 ? performance.now() - clock.since : 0),
      close: () => void this.clocks.delete(runId),
    };
  }

  /** Something else works for this turn until the returned function is called. What belongs to no turn counts nowhere. */
  enter(runId: string | undefined): () => void {
    const clock = runId === undefined ? undefined : this.clocks.get(runId);
    if (clock === undefined) return () => undefined;
    clock.running += 1;
    if (clock.running === 1) clock.since = performance.now();
    let left = false;
    return () => {
      if (left) return;
      left = true;
      clock.running -= 1;
      if (clock.running === 0) clock.busyMs += performance.now() - clock.since;
    };
  }
}
