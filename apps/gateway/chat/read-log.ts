// All stored events of a run.
import type { EventLog, NumberedEvent } from '#libs/runs/run-store.js';

export async function readLog(runId: string, log: EventLog): Promise<NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  for (;;) {
    const more = await log.read(runId, events.at(-1)?.n ?? 0, 64);
    if (more.length === 0) return events;
    events.push(...more);
  }
}
