// Stores a run: `open` begins the run, `commit` writes a round before its calls are dispatched, `finish` or `fail` writes the
// end. Every event of the turn is numbered, measured, folded into the answer, logged for later readers, and shown to the caller.
// The loop does not know whether its run is stored.
import type { Flow } from '#libs/concurrency/flow.js';
import type {
  AuditContext,
  EventLog,
  NewRun,
  NumberedEvent,
  PlannedCall,
  RunEnd,
  RunStore,
} from '#libs/runs/run-store.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError, errorTable, toAppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { DoneEvent, NewRound, TurnRecord } from './turn.js';
import { TurnFold } from './fold-turn.js';
import type { TurnMeasure } from './runs/measure-turn.js';
import { isFor, type RunReader } from './follow.js';
import type { ActiveRun } from './runs/active-runs.js';
import { endOf } from './runs/run-errors.js';

/** A run whose events are not streamed is written with its first round, if that round is ready within this time. */
const beginMs = 50;
/** Events are written after this time, or when this many bytes have gathered. */
const gatherMs = 50;
const gatherBytes = 16 * 1024;
/** With more unwritten bytes the turn waits, so that memory stays bounded while the store is slow. */
const maxUnwrittenBytes = 4 * 1024 * 1024;

/** Takes a turn's events in batches. The turn waits while a returned promise is pending. */
export type TakeTurnEvents = (batch: readonly NumberedEvent[]) => Promise<void> | undefined;

export interface RecordPorts {
  log: Pick<EventLog, 'append'>;
  runs: Pick<RunStore, 'planRound' | 'end'>;
  begin: RunStore['begin'];
  logger: Logger;
  /** Notifies followers of the run, on any gateway, of new events. */
  announce: (runId: string) => void;
  /** Takes over an end that could not be written. */
  endLater: (runId: string, end: RunEnd) => void;
}

export interface RecordOptions {
  run: NewRun;
  createdAt: Date;
  /**
   * `begun`: the run is stored already. `begins`: the run is written at once if its events are streamed, else with the first
   * round or after a short time. `late`: the run is stored only once a round is committed.
   */
  storing: 'begun' | 'begins' | 'late';
  /** The caller reads the events as they come, not one answer at the end. */
  streams: boolean;
  /** Somebody may ask for the run, during the turn or later, without the id from its answer. */
  returns: boolean;
  audit: AuditContext;
  /** Stops the turn from outside. */
  active: ActiveRun;
  /** The last event number that was used before the run was continued; 0 for a new run. */
  lastN: number;
  measure: TurnMeasure;
}

export class RunRecord implements TurnRecord {
  /** When the run began, by the gateway's clock until the run is written, then by the store's. */
  createdAt: Date;
  /** Set while the run's end is written after the answer was shown. Never rejects. */
  ending: Promise<void> | undefined;
  private readonly fold = new TurnFold();
  /** Somebody may ask for the events while the run goes on. */
  private readonly logsEvents: boolean;
  private show: TakeTurnEvents = () => undefined;
  private lastN: number;
  /** The run is written, or being written. */
  private stored: boolean;
  /** Set until the run has been written; a stream shows nothing before. */
  private beginning: Promise<void> | undefined;
  private beginsSoon: NodeJS.Timeout | undefined;
  private beginFailure: AppError | undefined;
  private unwritten: NumberedEvent[] = [];
  private unwrittenBytes = 0;
  private writing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** A round of the run is stored. */
  private underWay: boolean;
  private ended = false;

  constructor(
    private readonly ports: RecordPorts,
    private readonly options: RecordOptions,
  ) {
    this.createdAt = options.createdAt;
    this.lastN = options.lastN;
    this.underWay = options.lastN > 0;
    this.stored = options.storing === 'begun';
    this.logsEvents = options.returns || options.streams;
  }

  /** Begins the run; its events go to `show`. Call it once, before anything else. */
  open(show: TakeTurnEvents): void {
    this.show = show;
    const { storing, streams } = this.options;
    if (storing !== 'begins') return;
    if (streams) this.begin();
    else this.beginsSoon = setTimeout(() => this.begin(), beginMs);
  }

  /** Shows stored events of a continued run to a reader that may have some of them. They are neither numbered nor stored again. */
  replay(events: readonly NumberedEvent[], reader: RunReader): Promise<void> | undefined {
    for (const { event } of events) this.fold.add(event);
    const batch = events.filter((each) => isFor(reader, each));
    return batch.length > 0 ? this.show(batch) : undefined;
  }

  /** Numbers, folds, measures, logs and shows one batch of events. */
  emit(events: readonly TurnEvent[]): Flow {
    const { measure } = this.options;
    const batch: NumberedEvent[] = [];
    for (const event of events) {
      batch.push(this.number(event));
      this.fold.add(event);
      measure.note(event);
    }
    if (this.beginning !== undefined && this.options.streams) return this.emitOnceBegun(batch);
    const kept = this.stored ? this.log(batch) : undefined;
    const shown = this.show(batch);
    if (kept === undefined) return shown as Flow;
    return kept.then(() => shown as Promise<undefined> | undefined);
  }

  /** Writes the round, its calls and the unwritten events, all in one statement. */
  async commit(round: NewRound, calls: PlannedCall[]): Promise<void> {
    // A run that has not begun is written by the same statement: both are submitted in one tick of the event loop.
    if (!this.begin()) {
      if (this.beginning !== undefined) await this.beginning;
      // Earlier events are stored before the round.
      if (this.writing !== undefined) await this.writing;
    }
    if (this.beginFailure !== undefined) throw this.beginFailure;
    const { run, audit } = this.options;
    const events = this.take();
    try {
      audit.model = `${round.provider}/${round.model}`;
      const place = { lastEvent: this.lastN, runId: run.id, owner: run.owner, calls, events };
      await this.ports.runs.planRound(Object.assign(round, place), audit);
    } catch (error) {
      await this.beginning;
      if (this.beginFailure !== undefined) throw this.beginFailure;
      // If the failed statement was committed after all, writing the same events again changes nothing.
      if (events.length > 0) await this.write(events);
      throw error;
    }
    if (this.beginning !== undefined) await this.beginning;
    this.underWay = true;
    this.announce();
  }

  /** Shows `done` when the run's end has been written, or at once if nobody can come back to the run. */
  finish(done: DoneEvent, round?: NewRound): Promise<void> | undefined {
    if (this.options.storing === 'begins') this.begin();
    if (this.beginning !== undefined) return this.finishOnceBegun(this.beginning, done, round);
    return this.finishNow(done, round);
  }

  private async finishOnceBegun(beginning: Promise<void>, done: DoneEvent, round?: NewRound): Promise<void> {
    await beginning;
    await this.finishNow(done, round);
  }

  private finishNow(done: DoneEvent, round?: NewRound): Promise<void> | undefined {
    if (this.beginFailure !== undefined) throw this.beginFailure;
    const { fold } = this;
    fold.add(done);
    this.options.measure.note(done);
    const lastEvent = this.lastN;
    const last = [this.number(done)];
    if (this.stored) {
      const end: RunEnd = { state: 'done', usage: done.usage, answer: fold.answer as unknown as JsonObject };
      end.stoppedBy = done.toolExecution?.stopped_by ?? undefined;
      if (round !== undefined) end.round = Object.assign(round, { lastEvent });
      const ending = this.end(end, last);
      // A caller that gets calls will come back with their results.
      if (this.options.returns || done.finishReason === 'tool_calls') return ending.then(() => this.show(last));
      this.ending = ending;
    }
    return this.show(last);
  }

  /** Ends the run of a turn that did not finish. Returns the error for the caller. */
  async fail(thrown: unknown): Promise<AppError> {
    // A run that failed at once is stored too, so that its id can be asked for.
    if (this.options.storing === 'begins') this.begin();
    await this.beginning;
    const error = this.beginFailure ?? toAppError(thrown);
    this.options.measure.failed(error);
    if (this.ended || !this.stored) return error;
    const { active, run } = this.options;
    const end = endOf(error, active.signal, { ...run, underWay: this.underWay });
    const shown = { code: error.code, message: error.message, type: errorTable[error.code].type };
    // An interrupted run can be continued, so it has no last event yet.
    const last = end.state === 'interrupted' ? [] : [this.number({ type: 'error', error: shown })];
    await this.end({ ...end, usage: this.fold.answer.usage }, last);
    return error;
  }

  /** Releases timers and ends the measuring. Call it however the turn ended. */
  close(): void {
    clearTimeout(this.timer);
    clearTimeout(this.beginsSoon);
    this.options.measure.ended();
  }

  /** Starts writing the run. False if it is written, or being written. */
  private begin(): boolean {
    if (this.stored || this.beginFailure !== undefined) return false;
    clearTimeout(this.beginsSoon);
    this.stored = true;
    this.beginning = this.ports.begin(this.options.run).then(
      ({ run }) => {
        this.beginning = undefined;
        this.createdAt = run.createdAt;
      },
      (error: unknown) => {
        this.beginning = undefined;
        this.beginFailure = toAppError(error);
        // Nobody has seen anything of the run, and the store has no run to end.
        this.stored = false;
        this.options.active.abort(new AppError('cancelled', 'The run could not be written'));
      },
    );
    return true;
  }

  private async emitOnceBegun(batch: readonly NumberedEvent[]): Promise<'enough' | undefined> {
    await this.beginning;
    if (this.beginFailure !== undefined) return 'enough';
    await this.log(batch);
    await this.show(batch);
    return undefined;
  }

  private number(event: TurnEvent): NumberedEvent {
    return { n: ++this.lastN, event };
  }

  private log(batch: readonly NumberedEvent[]): Promise<void> | undefined {
    if (!this.logsEvents) return undefined;
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
    const before = this.writing;
    if (events.length > 0) this.writing = before?.then(() => this.write(events)) ?? this.write(events);
    await this.writing;
  }

  /** Never rejects: without stored events a stream cannot be resumed, but the answer is complete. */
  private async write(events: NumberedEvent[]): Promise<void> {
    const runId = this.options.run.id;
    try {
      await this.ports.log.append(runId, events);
      this.announce();
    } catch (error) {
      this.ports.logger.warn({ runId, error }, 'events of a run were not stored');
    }
  }

  /** Writes the end with the last events, so that a reader who finds the run ended finds all events. */
  private async end(end: RunEnd, last: readonly NumberedEvent[]): Promise<void> {
    this.ended = true;
    const { id: runId, owner } = this.options.run;
    // The error event of a failed run is always stored.
    const keeps = this.logsEvents || end.state !== 'done';
    if (keeps) end.events = [...this.take(), ...last];
    if (this.writing !== undefined) await this.writing;
    try {
      await this.ports.runs.end(runId, owner, end);
    } catch (error) {
      // The caller gets the answer although its end is not stored yet.
      this.ports.logger.error({ runId, error }, 'the end of a run was not stored yet');
      this.ports.endLater(runId, end);
    }
    this.announce();
  }

  private announce(): void {
    if (this.logsEvents) this.ports.announce(this.options.run.id);
  }
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
