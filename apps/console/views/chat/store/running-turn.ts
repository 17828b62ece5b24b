// A turn that runs: its events are folded into the answer and shown once a frame. A turn that is a run is joined again when its stream
// broke off, or the page was loaded anew.
import { type ChatEvent, type Signalbox, SignalboxError, type TurnStream } from '@signalbox/client';
import { gatewayAway } from '../../../api/api.js';
import { ExternalValue } from '../../../api/external-value.js';
import { describeFailure } from '../../../api/failure.js';
import { type Answer, foldAnswer, noAnswer } from '../conversation/answer.js';
import { requestOfTurn } from '../conversation/chat-request.js';
import { type ChatConversation, isRun, type ShownError, type TurnNode } from '../conversation/conversation.js';

export type NumberedEvent = Exclude<ChatEvent, { type: 'rewind' }>;

/** A key is valid for 24 hours: after that the same request would begin another turn. */
const keyLivesMs = 23 * 3_600_000;
const mostJoins = 30;
const longestWaitMs = 10_000;
/** A hidden page gets no frames. */
const latestShownMs = 250;

export interface TurnFollowing {
  api: Signalbox;
  turn: TurnNode;
  conversation: ChatConversation;
  changed(turn: TurnNode): void;
}

const stopped = new Error('Stopped');

export class RunningTurn {
  /** All events of the turn, as they came. */
  readonly events: NumberedEvent[] = [];
  /** How many there are, once a frame. */
  readonly count = new ExternalValue(0);
  private readonly controller = new AbortController();
  private isStopping = false;
  private turn: TurnNode;
  private answer: Answer;
  private drawing: { frame: number; timer: ReturnType<typeof setTimeout> } | undefined;

  constructor(private readonly following: TurnFollowing) {
    this.turn = following.turn;
    this.answer = this.turn.answer;
  }

  stop(): void {
    this.isStopping = true;
    // Only a run whose id is known can be cancelled: until its first event comes, the stream is read on.
    if (isRun(this.turn) && this.answer.runId === undefined) this.show({ state: 'stopped', endedAt: Date.now() });
    else this.controller.abort(stopped);
  }

  async follow(how: 'new' | 'joined' | 'again'): Promise<void> {
    let join = how !== 'new';
    for (let attempt = 1; ; attempt += 1) {
      const had = this.events.length;
      try {
        if (how === 'joined' && !isRun(this.turn))
          throw new SignalboxError('page_left', 'The page was closed before the answer was complete');
        await this.read(join ? await this.streamAgain(how) : this.begin());
        this.show({ state: 'done', endedAt: Date.now() });
        return;
      } catch (error) {
        if (this.controller.signal.aborted) {
          this.endStopped();
          return;
        }
        if (this.isStopping) return;
        if (this.events.length > had) attempt = 1;
        join = true;
        if (attempt < mostJoins && (await this.mayJoin(error, attempt))) continue;
        if (this.controller.signal.aborted) this.endStopped();
        else this.show({ state: 'failed', endedAt: Date.now(), error: this.shownError(error) });
        return;
      }
    }
  }

  private endStopped(): void {
    const { runId } = this.answer;
    // A run does not end with its reader.
    if (isRun(this.turn) && runId !== undefined) this.following.api.runs.cancel(runId).catch(() => undefined);
    this.show({ state: 'stopped', endedAt: Date.now() });
  }

  private begin(): TurnStream {
    const { api, conversation } = this.following;
    const { signal } = this.controller;
    const request = requestOfTurn(conversation, this.turn);
    if (!isRun(this.turn)) return api.stream(request, { signal, resume: false });
    // A run that fails is not cancelled, so that it can be continued.
    return api.stream({ ...request, on_disconnect: 'detach' }, { signal, idempotencyKey: this.turn.key });
  }

  /** The rest of the run's events; all of them, if this page does not have the first ones. */
  private async streamAgain(how: string): Promise<TurnStream> {
    const { api } = this.following;
    const { signal } = this.controller;
    const { runId } = this.answer;
    const isKeyValid = Date.now() - this.turn.at < keyLivesMs;
    if (runId === undefined) {
      if (!isKeyValid) throw new SignalboxError('run_not_found', 'The turn is no longer known');
      return this.fromFirst(this.begin());
    }
    const { state } = await api.runs.get(runId, { signal });
    const isBroken = state === 'interrupted' || (state === 'failed' && how === 'again');
    if (isBroken && isKeyValid) return this.fromFirst(this.begin());
    const after = this.events.at(-1)?.n ?? 0;
    const stream = api.runs.events(runId, { after, signal });
    return after === 0 ? this.fromFirst(stream) : stream;
  }

  private fromFirst(stream: TurnStream): TurnStream {
    this.events.length = 0;
    this.answer = { ...noAnswer, runId: this.answer.runId };
    return stream;
  }

  private async read(stream: TurnStream): Promise<void> {
    for await (const event of stream) {
      if (event.type === 'rewind') {
        const kept = this.events.filter(({ n }) => n <= event.to);
        this.events.splice(0, this.events.length, ...kept);
        this.answer = kept.reduce(foldAnswer, noAnswer);
      } else {
        this.events.push(event);
        this.answer = foldAnswer(this.answer, event);
      }
      if (this.isStopping) this.controller.abort(stopped);
      this.controller.signal.throwIfAborted();
      this.draw();
    }
  }

  /** Waits for the gateway, if the turn can go on then. */
  private async mayJoin(error: unknown, attempt: number): Promise<boolean> {
    if (!isRun(this.turn) || !(error instanceof SignalboxError)) return false;
    const isCut = ['connection_failed', 'stream_cut', 'timeout', 'shutting_down'].includes(error.code);
    if (!isCut) return false;
    this.show({ state: 'cut' });
    await this.gatewayAnswers(Math.min(500 * attempt, longestWaitMs));
    return !this.controller.signal.aborted;
  }

  private gatewayAnswers(atLeastMs: number): Promise<void> {
    const { signal } = this.controller;
    return new Promise((resolve) => {
      const end = () => {
        unfollow();
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      let waited = false;
      const unfollow = gatewayAway.follow(() => waited && !gatewayAway.get() && end());
      const timer = setTimeout(() => {
        waited = true;
        if (!gatewayAway.get()) end();
      }, atLeastMs);
      signal.addEventListener('abort', end);
    });
  }

  private shownError(error: unknown): ShownError {
    const { sentence: message, code, requestId } = describeFailure(error, 'en');
    const status = error instanceof SignalboxError ? error.status : undefined;
    const isOurs = status !== undefined && status < 500 && status !== 429;
    const mayContinue = isRun(this.turn) && !isOurs && Date.now() - this.turn.at < keyLivesMs;
    return { message, mayContinue, ...(code !== undefined && { code }), ...(requestId !== undefined && { requestId }) };
  }

  private draw(): void {
    if (this.drawing !== undefined) return;
    const show = () => this.show(this.turn.state === 'cut' ? { state: 'running' } : {});
    this.drawing = { frame: requestAnimationFrame(show), timer: setTimeout(show, latestShownMs) };
  }

  private show(change: Partial<TurnNode>): void {
    if (this.drawing !== undefined) {
      cancelAnimationFrame(this.drawing.frame);
      clearTimeout(this.drawing.timer);
      this.drawing = undefined;
    }
    this.turn = { ...this.turn, ...change, answer: this.answer };
    this.count.set(this.events.length);
    this.following.changed(this.turn);
  }
}
