// The stored events of a run up to a number, all of them.
import type { EventLog, NumberedEvent } from '#libs/runs/run-store.js';

export async function readLog(runId: string, upToN: number, log: EventLog): Promise<NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  for (let afterN = 0; afterN < upToN;) {
    const more = await log.read(runId, afterN, 64);
    if (more.length === 0) break;
    events.push(...more.filter(({ n }) => n <= upToN));
    afterN = more.at(-1)!.n;
  }
  return events;
}
