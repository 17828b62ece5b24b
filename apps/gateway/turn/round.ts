// Settles a round: runs its planned calls, waits for calls that run elsewhere and for decisions, and emits the events of both.
// A round that was planned a moment ago, the last round of a continued turn, and a round of an earlier turn whose calls the
// messages of this turn answer are settled alike. Calls that change the same session run one after the other, in call order;
// all other calls run at the same time.
import type { Wait } from '#libs/waits/wait.js';
import { parkedOutcome, waitKinds } from '#libs/waits/wait-kinds.js';
import type { WaitStore } from '#libs/waits/wait-store.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Journal } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import { failedOutcome, isEnded, skippedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { ApprovalNeeded } from '../govern/approval-needed.js';
import type { Waits } from '../govern/waits.js';
import { toolOfCall } from '../tools/tool-of-call.js';
import { CallEvents } from './dispatch/call-events.js';
import type { Call, RunnableCall } from './call.js';
import type { ToolProgress, ToolRunner } from './dispatch/tool-runner.js';
import type { Round, Turn, TurnRecord } from './turn.js';
import { toShownResult, toToolMessage } from './turn-state.js';
import { askedBy, outcomeElsewhere, progressEvents, waitRequest, requestEvents } from './wait.js';
import type { ElsewherePorts } from './wait.js';

export interface RoundPorts extends ElsewherePorts {
  runner: Pick<ToolRunner, 'plan' | 'run' | 'skip'>;
  approvals: Pick<Waits, 'decided'>;
  waitStore: Pick<WaitStore, 'byIds'>;
  journal: Pick<Journal, 'get' | 'plan'>;
}

/** How long the turn waits for a call that runs elsewhere and shows no progress. */
const patienceMs = 20_000;

export const isOpen = (call: Call): boolean => call.kind === 'server' && !isEnded(call.state);

/**
 * Emits one `tool_result` for every call that ends here; failures of tools are results, never exceptions. A call that is still
 * open afterwards waits for the caller, who was given a call of the reserved function. But the caller of an own call is not in a
 * chat: that caller gets an error, and comes back with its key.
 * @throws AppError store_unavailable; for an own call ApprovalNeeded too, and why it found no place
 */
export function settleRound(
  round: Round,
  turn: Turn,
  ports: RoundPorts,
  record: Pick<TurnRecord, 'emit'>,
): Promise<void> {
  return new SettledRound(round, turn, ports, record).settle();
}

class SettledRound {
  private readonly events: CallEvents;
  private readonly stays: boolean;
  /** Questions and sign-ins, by the id of the call that waits. Its caller, which does not stay, comes back for the call. */
  private readonly asked = new Map<string, Wait>();
  private over: AbortController | undefined;

  constructor(
    private readonly round: Round,
    private readonly turn: Turn,
    private readonly ports: RoundPorts,
    private readonly record: Pick<TurnRecord, 'emit'>,
  ) {
    this.events = new CallEvents((events) => record.emit(events));
    this.stays = turn.request.approval === 'hold';
  }

  async settle(): Promise<void> {
    const { calls } = this.round;
    if (calls.some((call) => call.again && call.state === 'parked')) await this.readDecisions();
    // Requests for approval are emitted first, so that people can decide while other calls run.
    const unsent = this.requests();
    if (unsent.length > 0) await this.record.emit(requestEvents(unsent, this.turn.state.numbering));
    // Calls that run elsewhere may change the session that the planned calls use.
    const elsewhere = calls.filter((call) => call.state === 'dispatched');
    if (elsewhere.length > 0) await Promise.all(elsewhere.map((call) => this.follow(call)));
    const due = calls.filter((call) => call.kind === 'server' && !call.emitted && this.isDue(call));
    try {
      await this.runLines(due);
    } finally {
      this.over?.abort();
    }
    if (this.events.drained !== undefined) await this.events.drained;
    if (this.turn.request.call !== undefined) await this.askElsewhere();
    else if (this.asked.size > 0) await this.giveQuestions();
  }

  /** @throws ApprovalNeeded for an own call that waits for a person */
  private async askElsewhere(): Promise<void> {
    const { id, state, waitId } = this.round.calls[0]!;
    const question = this.asked.get(id);
    if (question === undefined && state !== 'parked') return;
    const [asked] = question === undefined ? await this.ports.waitStore.byIds([waitId!]) : [question];
    if (asked === undefined) throw new AppError('approval_not_found', 'The approval of this call no longer exists');
    throw new ApprovalNeeded(asked);
  }

  /** Reads the decisions about calls that were parked before this turn. */
  private async readDecisions(): Promise<void> {
    const parked = this.round.calls.filter(({ state }) => state === 'parked');
    const approvals = await this.ports.waitStore.byIds(parked.flatMap(({ waitId }) => waitId ?? []));
    for (const approval of approvals) {
      const call = parked.find(({ id }) => id === approval.callId);
      if (call !== undefined && approval.state !== 'waiting') this.decided(call, approval);
    }
  }

  /** Calls of the reserved function to emit: new ones, and those of earlier turns whose approval still waits. */
  private requests(): Call[] {
    const { calls, places } = this.round;
    const requests = calls.filter((call) => !call.emitted && askedBy(call) !== undefined);
    if (places === undefined) return requests;
    const waiting = new Set(calls.filter(({ state }) => state === 'parked').map(({ waitId }) => waitId));
    return this.stays ? [] : requests.filter((call) => waiting.has(askedBy(call)));
  }

  private isDue({ state }: Call): boolean {
    return isEnded(state) || state === 'planned' || (state === 'parked' && this.stays);
  }

  private runLines(due: readonly Call[]): Promise<unknown> {
    const waits = new Map(due.filter(({ state }) => state === 'parked').map((call) => [call, this.whenDecided(call)]));
    // The error surfaces where the promise is awaited.
    for (const wait of waits.values()) wait.catch(() => undefined);
    const lines = this.turn.request.parallelToolCalls === false ? [due] : inLines(due);
    const run = async (line: readonly Call[]) => {
      let blocked = false;
      for (const call of line) {
        const wait = waits.get(call);
        if (wait !== undefined) await wait;
        if (call.outcome === undefined) {
          if (blocked) await this.skip(call as RunnableCall);
          else await this.run(call as RunnableCall);
        }
        if (call.outcome === undefined) blocked = true;
        else this.emitResult(call);
      }
    };
    return lines.length === 1 ? run(lines[0]!) : Promise.all(lines.map(run));
  }

  private run(call: RunnableCall): Promise<void> {
    return this.ports.runner
      .run(call, (progress) => this.progressed(call, progress))
      .then(
        (outcome) => call.end(outcome),
        (error: unknown) => {
          if (error instanceof ApprovalNeeded) return this.waitFor(call, error.approval);
          call.end(this.failureOf(error));
          return undefined;
        },
      );
  }

  /** For a call that asks a question and goes on, or that a worker has parked: then it runs once it may. */
  private async waitFor(call: RunnableCall, wait: Wait): Promise<void> {
    const isParked = waitKinds[wait.kind].call === 'parked';
    if (isParked) call.park(wait);
    if (!isParked || (wait.state === 'waiting' && !this.stays)) {
      this.asked.set(call.id, wait);
      return;
    }
    if (wait.state === 'waiting') await this.whenDecided(call);
    else this.decided(call, wait);
    if (call.outcome === undefined) await this.run(call);
  }

  private failureOf(error: unknown): ToolOutcome {
    if (!(error instanceof AppError) || this.turn.request.call !== undefined) throw error;
    // Only the journal may decide how the call ends: the store may have cancelled the call, or another gateway may continue it.
    if (error.code === 'store_unavailable' || error.code === 'shutting_down') throw error;
    // Within a chat, a full queue counts as a failure of the tool: the model may answer without the result.
    return failedOutcome('failed', 'tool_unavailable', `The call did not begin: ${error.message}`);
  }

  /** Ends a call without running it, because it may depend on the call before it, which has not ended. */
  private async skip(call: RunnableCall): Promise<void> {
    await this.ports.runner.skip(call, skippedOutcome);
    call.end(skippedOutcome);
  }

  /** Emits the wait to the caller, who stays, and waits until somebody has ended it. */
  private async whenDecided(call: Call): Promise<void> {
    const { signal, deadline } = this.turn.context;
    this.over ??= new AbortController();
    const waiting = { signal: AbortSignal.any([signal, this.over.signal]), deadline };
    const approval = await this.ports.approvals.decided(call.waitId!, waiting, (asks) => {
      this.progressed(call, { status: 'waiting_approval', asks });
    });
    this.decided(call, approval);
  }

  private decided(call: Call, approval: Wait): void {
    const refusal = parkedOutcome(approval);
    if (refusal !== undefined) return call.end(refusal);
    call.again = true;
    call.state = 'planned';
    this.ports.runner.plan(call, toolOfCall(call.offered!, approval.arguments), approval.arguments);
  }

  /** @throws AppError store_unavailable for a call that shows no sign of ending */
  private async follow(call: Call): Promise<void> {
    const { context } = this.turn;
    let until = steadyNow() + this.patienceWith(call);
    let left = false;
    let parkedFor: string | undefined;
    const outcome = await outcomeElsewhere(call.id, { ...context, runId: this.turn.runId }, this.ports, {
      mayWait: ({ state, waitId }) => {
        if (state === 'parked') parkedFor = waitId;
        return parkedFor === undefined && !left && steadyNow() <= until;
      },
      onAsked: async (question) => {
        if (waitKinds[question.kind].call === 'parked') return;
        left = call.context.questions !== 'hold';
        if (left) return void this.asked.set(call.id, question);
        await this.record.emit(progressEvents(call.id, { status: 'waiting_approval', asks: question }));
        await this.ports.approvals.decided(question.id, context);
        until = steadyNow() + this.patienceWith(call);
      },
    });
    const [wait] = parkedFor === undefined ? [] : await this.ports.waitStore.byIds([parkedFor]);
    if (outcome !== undefined) call.end(outcome);
    else if (wait !== undefined) await this.waitFor(call as RunnableCall, wait);
    else if (!left)
      throw new AppError('store_unavailable', 'Tools of this run are still running', { retryAfterSeconds: 5 });
  }

  private patienceWith({ job }: Call): number {
    return job?.questions === undefined ? patienceMs : Math.max(patienceMs, job.maxTimeoutMs);
  }

  private progressed(call: Call, progress: ToolProgress): void {
    for (const event of progressEvents(call.id, progress)) this.events.add(event);
  }

  private emitResult(call: Call): void {
    call.emitted = true;
    this.events.add({ type: 'tool_result', callId: call.id, result: toShownResult(call.outcome!) });
  }

  /** Turns each question into a call of the reserved function, journaled before the caller sees it. @throws AppError store_unavailable */
  private async giveQuestions(): Promise<void> {
    const { calls, runId, number: round } = this.round;
    const known = new Map(calls.map((call) => [askedBy(call), call]));
    const given = [...this.asked].map(([callId, question]) => {
      const asking = calls.find(({ id }) => id === callId)!;
      return known.get(question.id) ?? waitRequest(question, asking.context);
    });
    const added = given.filter((call) => !calls.includes(call));
    await Promise.all(
      added.map((call, at) =>
        this.ports.journal.plan(call.row, call.audit, { runId, round, position: calls.length + at }),
      ),
    );
    calls.push(...added);
    const unsent = given.filter((call) => !call.emitted);
    if (unsent.length > 0) await this.record.emit(requestEvents(unsent, this.turn.state.numbering));
  }
}

/** Groups the calls that must run one after the other: those that may change the same session of the same server. */
function inLines(calls: readonly Call[]): Call[][] {
  const lines = new Map<string, Call[]>();
  for (const call of calls) {
    const isAlone = call.outcome !== undefined || call.tool?.readOnly !== false;
    const key = isAlone ? call.id : `${call.server}\n${call.context.sessionId}`;
    const line = lines.get(key);
    if (line === undefined) lines.set(key, [call]);
    else line.push(call);
  }
  return [...lines.values()];
}

/** Puts the results of a settled round where the model sees them: after the message, or at their places in an earlier turn. */
export function addResults({ message, calls, places }: Round, { state }: Turn): void {
  const ended = calls.filter((call) => call.kind === 'server' && call.outcome !== undefined);
  if (places === undefined) {
    state.messages.push(message, ...ended.map((call) => toToolMessage(call.id, call.outcome!)));
    return;
  }
  for (const call of ended) {
    const place = places.get(call.id);
    if (place === undefined) continue;
    // The placeholder said that the outcome is unknown.
    delete place.is_error;
    Object.assign(place, toToolMessage(call.id, call.outcome!));
  }
}
