// What a turn tells, on its way out: numbered, measured, folded, kept for resume, shown to its reader; and what is written
// of its run, in order: its beginning, each round before anything of it is dispatched, its end. The loop does not know
// whether it is stored.
import type { Flow } from '#libs/concurrency/flow.js';
import type { AuditContext, EventLog, NumberedEvent, PlannedRound, RunEnd, RunStore } from '#libs/runs/run-store.js';
import type { Logger } from '#libs/logging/logger.js';
import { type AppError, ERRORS, toAppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { DoneEvent, TurnRecord } from './chat-turn.js';
import { TurnFold } from './fold-turn.js';
import type { TurnMeasure } from './measure-turn.js';

/** A run whose events are not shown as they come is written with its first round, if that comes within so long. */
const beginMs = 50;
/** How long and how much events wait for company before they are written. */
const gatherMs = 50;
const gatherBytes = 16 * 1024;
/** More than this unwritten holds the turn back: a store that is slow slows its readers, memory stays bounded. */
const maxUnwrittenBytes = 4 * 1024 * 1024;

/** Takes a turn's events, in batches of what happened together; a promise holds the turn back until it resolves. */
export type TakeTurnEvents = (batch: readonly NumberedEvent[]) => Promise<void> | undefined;

export interface RecordPorts {
  log: Pick<EventLog, 'append'>;
  runs: Pick<RunStore, 'planRound' | 'end'>;
  logger: Logger;
  /** Tells whoever follows the run, here or on another gateway. */
  announce: (runId: string) => void;
  /** Takes over an end that could not be written. */
  endLater: (runId: string, end: RunEnd) => void;
}

export interface RecordOptions {
  runId: string;
  /** This gateway. */
  owner: string;
  /**
   * `begun`: the run is written already. `begins`: it will be, at once where its events are shown as they come, else with
   * its first round if that comes soon. `late`: only a round makes it a stored run.
   */
  storing: 'begun' | 'begins' | 'late';
  /** Writes the run. */
  begin: () => Promise<void>;
  /** Its reader sees the events as they come, not the whole answer at its end. */
  shows: boolean;
  /** Its events are kept: its caller, or a second one, may ask for them while it goes on. */
  keepsEvents: boolean;
  /** Nobody can come back to it: its end is written behind its last event. */
  endsBehind: boolean;
  audit: AuditContext;
  /** Aborted by whoever cancelled: the reason decides between cancelled and interrupted. */
  signal: AbortSignal;
  /** What the run ends as when it is stopped from outside or fails for now: interrupted where a retry goes on. */
  whenStopped: () => 'cancelled' | 'interrupted';
  /** Stops the turn when its run could not be written. */
  stop: () => void;
  /** The last number that was used before, when a run is continued. */
  lastN: number;
  measure: TurnMeasure;
}

export class RunRecord implements TurnRecord {
  readonly fold = new TurnFold();
  /** Set while the run's end is written behind its answer; never rejects. */
  ending: Promise<void> | undefined;
  private lastN: number;
  /** Written, or being written. */
  private stored: boolean;
  /** Until the run has been written, nothing is shown. */
  private beginning: Promise<void> | undefined;
  private beginsSoon: NodeJS.Timeout | undefined;
  private beginFailure: AppError | undefined;
  private unwritten: NumberedEvent[] = [];
  private unwrittenBytes = 0;
  private writing: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;
  private ended = false;

  constructor(
    private readonly ports: RecordPorts,
    private readonly options: RecordOptions,
    private readonly show: TakeTurnEvents,
  ) {
    this.lastN = options.lastN;
    this.stored = options.storing === 'begun';
    if (options.storing !== 'begins') return;
    if (options.shows) this.begin();
    else this.beginsSoon = setTimeout(() => this.begin(), beginMs);
  }

  /** Also what was told before a run was continued: it is neither numbered nor stored again. */
  retell(batch: readonly NumberedEvent[]): Promise<void> | undefined {
    for (const { event } of batch) this.fold.add(event);
    return batch.length > 0 ? this.show(batch) : undefined;
  }

  /** One batch of what happened together. */
  tell(events: readonly TurnEvent[]): Flow {
    const { measure } = this.options;
    const batch: NumberedEvent[] = [];
    for (const event of events) {
      batch.push(this.number(event));
      this.fold.add(event);
      measure.note(event);
    }
    if (this.beginning !== undefined && this.options.shows) return this.tellOnceBegun(batch);
    const kept = this.stored ? this.keep(batch) : undefined;
    const shown = this.show(batch);
    if (kept === undefined) return shown as Flow;
    return kept.then(() => shown as Promise<undefined> | undefined);
  }

  /** The round and its calls, with the events that wait: all of it or nothing. */
  async commit(round: Omit<PlannedRound, 'runId' | 'lastEvent'>): Promise<void> {
    // In one statement with the round where it has not begun yet: both are submitted in one turn of the event loop.
    if (!this.begin()) {
      await this.beginning;
      // Events that are on their way come first.
      await this.writing;
    }
    if (this.beginFailure !== undefined) throw this.beginFailure;
    const { runId, owner, audit } = this.options;
    const events = this.take();
    try {
      const model = `${round.provider}/${round.model}`;
      await this.ports.runs.planRound({ ...round, runId, owner, lastEvent: this.lastN, events }, { ...audit, model });
    } catch (error) {
      await this.beginning;
      if (this.beginFailure !== undefined) throw this.beginFailure;
      // As the same burst: when the statement was committed after all, it is there already.
      if (events.length > 0) await this.write(events);
      throw error;
    }
    await this.beginning;
    this.announce();
  }

  /** With its last event, `done`, which is shown after the run's end has been written, unless nobody can come back to it. */
  async finish(done: DoneEvent): Promise<void> {
    if (this.options.storing === 'begins') this.begin();
    await this.beginning;
    if (this.beginFailure !== undefined) throw this.beginFailure;
    const { fold } = this;
    fold.add(done);
    this.options.measure.note(done);
    const last = [this.number(done)];
    const ending = this.end({ state: 'done', usage: done.usage, answer: fold.answer as unknown as JsonObject }, last);
    // Calls that are given to the caller are an invitation to come back.
    if (this.stored && this.options.endsBehind && done.finishReason !== 'tool_calls') this.ending = ending;
    else await ending;
    await this.show(last);
  }

  /** However else the turn ended. Returns what its caller is told. */
  async fail(thrown: unknown): Promise<AppError> {
    // Also one that failed at once can be asked for by its id.
    if (this.options.storing === 'begins') this.begin();
    await this.beginning;
    const error = this.beginFailure ?? toAppError(thrown);
    this.options.measure.failed(error);
    if (this.ended || !this.stored) return error;
    const { signal, whenStopped } = this.options;
    const shown = { code: error.code, message: error.message, type: ERRORS[error.code].type };
    const state = signal.aborted ? whenStopped() : endedBy(error, whenStopped());
    // A run that can go on has no last event yet.
    const last = state === 'interrupted' ? [] : [this.number({ type: 'error', error: shown })];
    await this.end({ state, usage: this.fold.answer.usage, error: shown }, last);
    return error;
  }

  /** However the turn ended. */
  close(): void {
    clearTimeout(this.timer);
    clearTimeout(this.beginsSoon);
    this.options.measure.ended();
  }

  /** False when it was written, or begun to be, before. */
  private begin(): boolean {
    if (this.stored || this.beginFailure !== undefined) return false;
    clearTimeout(this.beginsSoon);
    this.stored = true;
    this.beginning = this.options.begin().then(
      () => {
        this.beginning = undefined;
      },
      (error: unknown) => {
        this.beginning = undefined;
        this.beginFailure = toAppError(error);
        // Nothing of it was shown to anyone, and there is no run that could be ended.
        this.stored = false;
        this.options.stop();
      },
    );
    return true;
  }

  private async tellOnceBegun(batch: readonly NumberedEvent[]): Promise<'enough' | undefined> {
    await this.beginning;
    if (this.beginFailure !== undefined) return 'enough';
    await this.keep(batch);
    await this.show(batch);
    return undefined;
  }

  private number(event: TurnEvent): NumberedEvent {
    return { n: ++this.lastN, event };
  }

  private keep(batch: readonly NumberedEvent[]): Promise<void> | undefined {
    if (!this.options.keepsEvents) return undefined;
    for (const numbered of batch) {
      this.unwritten.push(numbered);
      this.unwrittenBytes += sizeOf(numbered.event);
    }
    if (this.unwrittenBytes >= maxUnwrittenBytes) return this.flush();
    if (this.unwrittenBytes >= gatherBytes) void this.flush();
    else this.timer ??= setTimeout(() => void this.flush(), gatherMs);
    return undefined;
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

  /** Never rejects: a log that is away costs resume, not the answer. */
  private async write(events: NumberedEvent[]): Promise<void> {
    const { runId } = this.options;
    try {
      await this.ports.log.append(runId, events);
      this.announce();
    } catch (error) {
      this.ports.logger.warn({ runId, error }, 'events of a run were not stored');
    }
  }

  /** With the last events: whoever finds the run ended finds all of them, and nobody is told of an end before it is one. */
  private async end(end: RunEnd, last: readonly NumberedEvent[]): Promise<void> {
    this.ended = true;
    if (!this.stored) return;
    const { runId, owner } = this.options;
    // What a run failed with is kept of each.
    const keeps = this.options.keepsEvents || end.state !== 'done';
    const whole: RunEnd = keeps ? { ...end, events: [...this.take(), ...last] } : end;
    await this.writing;
    try {
      await this.ports.runs.end(runId, owner, whole);
    } catch (error) {
      // The answer is the caller's all the same.
      this.ports.logger.error({ runId, error }, 'the end of a run was not stored yet');
      this.ports.endLater(runId, whole);
    }
    this.announce();
  }

  private announce(): void {
    if (this.options.keepsEvents) this.ports.announce(this.options.runId);
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
