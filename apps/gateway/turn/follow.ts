// Reads the stored events of a run from any number on, as they arrive: for a reader that resumes, and for a second caller of the
// same run, on any gateway.
import type { Channels } from '#libs/backing/channels.js';
import { Bell } from '#libs/concurrency/bell.js';
import type { EventLog, NumberedEvent, RunStore } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import { channelNames } from '#libs/schemas/tool-job.js';
import { advancesDetached } from './runs/run-errors.js';

export interface FollowPorts {
  log: EventLog;
  runs: RunStore;
  channels: Channels;
}

export interface FollowOptions {
  principal: string;
  runId: string;
  /** The last event number that the reader has. */
  afterN: number;
  /** The reader can take back events that it has shown, so it gets `rewind` events. */
  rewinds: boolean;
  signal: AbortSignal;
}

const rowsAtOnce = 64;
/** Channels may lose messages, so the log is polled as well. */
const pollMs = 1_000;

export type RunReader = Pick<FollowOptions, 'afterN' | 'rewinds'>;

/**
 * Whether a reader gets an event. A run that another gateway continued has a `rewind`, which is for readers that have withdrawn
 * events.
 * @throws AppError shutting_down for a reader that has withdrawn events and cannot take them back
 */
export function isFor({ afterN, rewinds }: RunReader, { n, event }: NumberedEvent): boolean {
  if (event.type !== 'rewind') return n > afterN;
  if (afterN <= event.to) return false;
  if (rewinds) return true;
  throw new AppError('shutting_down', 'The gateway of this run stopped; read the run again from its beginning');
}

/**
 * Ends after the run's last event, or when the run stopped without a last event (cancelled, or interrupted until its caller
 * comes back); check the state of the run then.
 */
export async function* followRun(options: FollowOptions, ports: FollowPorts): AsyncGenerator<NumberedEvent, void> {
  const { principal, runId, rewinds, signal } = options;
  let { afterN } = options;
  const news = new Bell();
  const unsubscribe = await ports.channels.subscribe(channelNames.runEvents(runId), () => news.ring());
  try {
    for (;;) {
      signal.throwIfAborted();
      // The run is read before the events, because its last events are stored no later than its end.
      const run = await ports.runs.get(principal, runId);
      if (run === undefined) throw new AppError('run_not_found', `Run '${runId}' not found`);
      const events = await ports.log.read(runId, afterN, rowsAtOnce);
      for (const numbered of events) {
        const isForReader = isFor({ afterN, rewinds }, numbered);
        afterN = numbered.n;
        if (!isForReader) continue;
        yield numbered;
        if (numbered.event.type === 'done' || numbered.event.type === 'error') return;
      }
      if (events.length > 0) continue;
      if (run.state !== 'running' && !advancesDetached(run)) return;
      await news.heard(pollMs, signal);
    }
  } finally {
    await unsubscribe();
  }
}
