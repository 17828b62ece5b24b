// Writes how calls ended. Retries while the store is briefly unavailable; after a longer outage the outcomes are loaded
// from the spool. An outcome accepted here is never lost.
import { setTimeout as delay } from 'node:timers/promises';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Logger } from '#libs/logging/logger.js';
import type { CallEnd, Journal } from '#libs/runs/run-store.js';
import { isStoreAway } from '#libs/store-error/store-error.js';
import type { OutcomeSpool } from './outcome-spool.js';

/** `stale`: the call had already ended, or another run of it has taken over: nothing was written. */
export type Ended = 'written' | 'stale' | 'spooled';

const retryDelaysMs = [100, 300, 1_000];
const loadIntervalMs = 500;

export class OutcomeWriter {
  private timer?: NodeJS.Timeout;
  private loading?: Promise<void>;
  /** Outcomes that neither the store nor the disk has accepted. */
  private unstored = 0;
  private readonly closed = new AbortController();

  constructor(
    private readonly journal: Journal,
    readonly spool: OutcomeSpool,
    private readonly logger: Logger,
    /** Maximum size of one outcome in the spool. */
    private readonly maxOutcomeBytes: number,
  ) {}

  async start(): Promise<void> {
    await this.spool.open();
    this.timer = setInterval(() => void this.load(), loadIntervalMs).unref();
    await this.load();
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    this.closed.abort();
    await this.loading;
  }

  /** False: an outcome that the store refuses could not be spooled either, so no new call may begin. */
  canKeep(callsUnderWay: number): boolean {
    return this.unstored === 0 && this.spool.hasRoom((callsUnderWay + 1) * this.maxOutcomeBytes);
  }

  end(end: CallEnd): Promise<Ended> {
    return this.journal.end(end).then(said, (error: unknown) => this.endLater(end, error));
  }

  private async endLater(end: CallEnd, failure: unknown): Promise<Ended> {
    if (!isStoreAway(failure)) throw failure;
    for (const pause of retryDelaysMs) {
      await delay(pause);
      try {
        return said(await this.journal.end(end));
      } catch (error) {
        if (!isStoreAway(error)) throw error;
      }
    }
    try {
      await this.spool.add(end);
    } catch (error) {
      this.logger.error(
        { error, metadata: { callId: end.callId } },
        'an outcome cannot be spooled: it is kept in memory',
      );
      this.unstored += 1;
      const ask = () => this.journal.end(end);
      const asked = untilStoreAnswers(ask, Infinity, this.closed.signal).finally(() => (this.unstored -= 1));
      return said(await asked);
    }
    this.logger.warn({ metadata: { callId: end.callId } }, 'the store is unavailable: an outcome was spooled');
    return 'spooled';
  }

  private load(): Promise<void> {
    this.loading ??= this.spool
      .recover()
      .then(() => this.spool.load((end) => this.journal.end(end)))
      .catch((error: unknown) => this.logger.debug({ error }, 'spooled outcomes could not be loaded yet'))
      .finally(() => (this.loading = undefined));
    return this.loading;
  }
}

const said = (written: boolean): Ended => (written ? 'written' : 'stale');

/** Retries while the store is unavailable. @throws the last error after `deadline` (epoch ms) or on abort. */
export async function untilStoreAnswers<T>(ask: () => Promise<T>, deadline: number, signal?: AbortSignal): Promise<T> {
  for (let pause = 100; ; pause = Math.min(pause * 2, 2_000)) {
    try {
      return await ask();
    } catch (error) {
      if (!isStoreAway(error) || steadyNow() + pause > deadline || signal?.aborted === true) throw error;
      await delay(pause, undefined, signal === undefined ? {} : { signal });
    }
  }
}
