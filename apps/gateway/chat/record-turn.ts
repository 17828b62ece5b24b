// Numbers a turn's events, keeps them for resume, and writes how the run ended. A tap around the loop: the loop does not
// know whether it is stored.
import type { EventLog, NumberedEvent, RunEnd } from '#libs/runs/run-store.js';
import type { Logger } from '#libs/logging/logger.js';
import { type AppError, ERRORS, toAppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { TurnFold } from './fold-turn.js';

/** How long and how much events wait for company before they are written. */
const gatherMs = 50;
const gatherBytes = 16 * 1024;
/** More than this unwritten holds the turn back: a store that is slow slows its readers, memory stays bounded. */
const maxUnwrittenBytes = 4 * 1024 * 1024;

export interface RecordPorts {
  append: EventLog['append'];
  logger: Logger;
  /** Tells whoever follows the run, here or on another gateway. */
  announce: (runId: string) => void;
  end: (end: RunEnd) => Promise<unknown>;
  /** Takes over an end that could not be written. */
  endLater: (end: RunEnd) => void;
}

export interface RecordOptions {
  runId: string;
  /** Whether there is a stored run; a kept follow-up can make one late. */
  isStored: () => boolean;
  /** Aborted by whoever cancelled: the reason decides between cancelled and interrupted. */
  signal: AbortSignal;
  /** What the run ends as when it is stopped from outside or fails for now: interrupted where a retry goes on. */
  whenStopped: () => 'cancelled' | 'interrupted';
  /** The last number that was used before, when a run is continued. */
  lastN: number;
  fold: TurnFold;
  /** Called last, however the turn ended. */
  onEnd: () => void;
}

export class TurnRecorder {
  lastN: number;
  private unwritten: NumberedEvent[] = [];
  private unwrittenBytes = 0;
  private writing: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly ports: RecordPorts,
    private readonly options: RecordOptions,
  ) {
    this.lastN = options.lastN;
  }

  /** The same events with numbers. The last one comes after the run's end has been written. */
  async *record(batches: AsyncIterable<readonly TurnEvent[]>): AsyncGenerator<readonly NumberedEvent[], void> {
    const { fold, isStored } = this.options;
    let written = false;
    try {
      for await (const batch of batches) {
        const numbered = batch.map((event) => this.number(event));
        for (const event of batch) fold.add(event);
        const last = batch.at(-1);
        if (last?.type !== 'done') {
          if (isStored()) await this.keep(numbered);
        } else {
          written = true;
          await this.finish(
            { state: 'done', usage: last.usage, answer: fold.answer as unknown as JsonObject },
            numbered,
          );
        }
        yield numbered;
      }
    } catch (thrown) {
      written = true;
      const error = toAppError(thrown);
      await this.fail(error);
      throw error;
    } finally {
      clearTimeout(this.timer);
      if (!written) await this.finish({ state: this.options.whenStopped(), usage: fold.answer.usage });
      this.options.onEnd();
    }
  }

  /** Stores something of the run together with the events before it that wait: with them, or they alone. */
  async storeWith<Result>(store: (events: readonly NumberedEvent[]) => Promise<Result>): Promise<Result> {
    const events = this.take();
    // Those that are on their way come first.
    await this.writing;
    try {
      return await store(events);
    } catch (error) {
      // As the same burst: when the statement was committed after all, it is there already.
      if (events.length > 0) await this.write(events);
      throw error;
    }
  }

  private take(): NumberedEvent[] {
    clearTimeout(this.timer);
    this.timer = undefined;
    const events = this.unwritten;
    this.unwritten = [];
    this.unwrittenBytes = 0;
    return events;
  }

  private async flush(): Promise<void> {
    const events = this.take();
    if (events.length > 0) this.writing = this.writing.then(() => this.write(events));
    await this.writing;
  }

  private number(event: TurnEvent): NumberedEvent {
    return { n: ++this.lastN, event };
  }

  private async keep(batch: readonly NumberedEvent[]): Promise<void> {
    for (const numbered of batch) {
      this.unwritten.push(numbered);
      this.unwrittenBytes += sizeOf(numbered.event);
    }
    if (this.unwrittenBytes >= maxUnwrittenBytes) await this.flush();
    else if (this.unwrittenBytes >= gatherBytes) void this.flush();
    else this.timer ??= setTimeout(() => void this.flush(), gatherMs);
  }

  /** Never rejects: a log that is away costs resume, not the answer. */
  private async write(events: NumberedEvent[]): Promise<void> {
    const { runId } = this.options;
    try {
      await this.ports.append(runId, events);
      this.ports.announce(runId);
    } catch (error) {
      this.ports.logger.warn({ runId, error }, 'events of a run were not stored');
    }
  }

  private async fail(error: AppError): Promise<void> {
    const { signal, whenStopped, fold, isStored } = this.options;
    if (!isStored()) return;
    const shown = { code: error.code, message: error.message, type: ERRORS[error.code].type };
    const state = signal.aborted ? whenStopped() : endedBy(error, whenStopped());
    // A run that can go on has no last event yet.
    const last = state === 'interrupted' ? [] : [this.number({ type: 'error', error: shown })];
    await this.finish({ state, usage: fold.answer.usage, error: shown }, last);
  }

  /** With the last events: whoever finds the run ended finds all of them, and nobody is told of an end before it is one. */
  private async finish(end: RunEnd, last: readonly NumberedEvent[] = []): Promise<void> {
    if (!this.options.isStored()) return;
    const whole = { ...end, events: [...this.take(), ...last] };
    await this.writing;
    try {
      await this.ports.end(whole);
    } catch (error) {
      // The answer is the caller's all the same.
      this.ports.logger.error({ runId: this.options.runId, error }, 'the end of a run was not stored yet');
      this.ports.endLater(whole);
    }
    this.ports.announce(this.options.runId);
  }
}

/** What a retry with the same key may mend is not the run's end, where there is such a key. */
function endedBy(error: AppError, whenStopped: 'cancelled' | 'interrupted'): 'failed' | 'interrupted' {
  return whenStopped === 'interrupted' && error.http >= 429 ? 'interrupted' : 'failed';
}

function sizeOf(event: TurnEvent): number {
  switch (event.type) {
    case 'content':
    case 'reasoning':
      return 64 + event.text.length;
    case 'tool_call':
      return 96 + event.arguments.length;
    case 'tool_result':
      return 128 + event.result.content.length;
    default:
      return 256;
  }
}
