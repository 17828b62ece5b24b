// Shows approvals, takes decisions, wakes waiting turns, and ends calls that nobody decided about in time. The store settles which
// decision counts, for all gateways.
import type { Channels } from '#libs/backing/channels.js';
import { type Approval, type ApprovalState, type ApprovalDecision, refusedOutcome } from '#libs/approvals/approval.js';
import type { ApprovalQuery, ApprovalStore, Approver } from '#libs/approvals/approval-store.js';
import type { QuestionStore } from '#libs/approvals/question-store.js';
import { Bell } from '#libs/concurrency/bell.js';
import type { Logger } from '#libs/logging/logger.js';
import type { TurnClocks } from '#libs/metrics/turn-clocks.js';
import type { Journal } from '#libs/runs/run-store.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { channelNames } from '#libs/schemas/tool-job.js';
import { toolOfCall } from '../tools/tool-of-call.js';
import type { ArgumentValidator, ToolCatalog } from '../tools/tool-catalog.js';
import { type Decide, whyDenied } from './decide.js';
import type { ApprovalWebhook } from './approval-webhook.js';
import { readQuestionAnswer } from './read-question-answer.js';

export interface ApprovalPorts {
  store: ApprovalStore;
  questions: Pick<QuestionStore, 'answer'>;
  journal: Pick<Journal, 'end'>;
  channels: Pick<Channels, 'publish' | 'subscribe'>;
  catalog: Pick<ToolCatalog, 'find'>;
  validator: ArgumentValidator;
  decide: Decide;
  webhook: ApprovalWebhook | undefined;
  /** Called after a decision: a detached run may be due. */
  onDecided: () => void;
  /** Counts the end of an approval, once. */
  onEnded: (state: ApprovalState) => void;
  clocks: Pick<TurnClocks, 'enter'>;
  logger: Logger;
}

export const approverRole = 'approver';

const sweepMs = 2_000;
const forgetMs = 600_000;
/** Channels may lose messages, so the store is polled as well. */
const pollMs = 1_000;
const maxSwept = 200;
const publishMs = 2_000;

export class Approvals {
  /** Waiting turns, by approval id. */
  private readonly waiting = new Map<string, Set<Bell>>();
  private readonly timers: NodeJS.Timeout[] = [];
  private sweeping: Promise<void> | undefined;
  private unsubscribe: (() => Promise<void>) | undefined;

  constructor(private readonly ports: ApprovalPorts) {}

  async start(): Promise<void> {
    this.unsubscribe = await this.ports.channels.subscribe(channelNames.approvals, (id) => this.ring(id));
    this.timers.push(setInterval(() => void this.sweep(), sweepMs).unref());
    this.timers.push(setInterval(() => void this.ports.store.forget().catch(() => undefined), forgetMs).unref());
  }

  async close(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    await this.unsubscribe?.();
    await this.sweeping;
    await this.ports.webhook?.close();
  }

  /** Approvals of the caller, or of everybody if the caller may decide for others. */
  async get(id: string, caller: RequestContext): Promise<Approval> {
    const approval = await this.ports.store.get(id);
    const none = approval === undefined || approval.kind === 'sampling';
    if (none || (approval.principal !== caller.principal && !decidesForOthers(caller))) {
      throw new AppError('approval_not_found', `Approval '${id.slice(0, 64)}' not found`);
    }
    return approval;
  }

  async list(query: ApprovalQuery, caller: RequestContext): Promise<Approval[]> {
    if (decidesForOthers(caller)) return this.ports.store.list(query);
    const { principal } = caller;
    if (query.principal !== undefined && query.principal !== principal) return [];
    return this.ports.store.list({ ...query, principal });
  }

  /** @throws AppError approval_not_found, approval_already_decided, invalid_tool_arguments, invalid_value, tool_denied */
  async decide(id: string, decision: ApprovalDecision, caller: RequestContext): Promise<Approval> {
    const approval = await this.get(id, caller);
    // The state is checked first, so that a late approver gets no errors about arguments.
    if (approval.state !== 'waiting') throw alreadyDecided(approval);
    const decided =
      approval.kind === 'question'
        ? await this.answered(approval, decision, caller)
        : await this.approved(approval, decision, caller);
    if (decided === undefined) {
      await this.sweep();
      throw alreadyDecided(await this.get(id, caller));
    }
    this.ports.onEnded(decided.state);
    if (decided.state === 'denied') await this.end(decided);
    await this.announce(id);
    this.ports.onDecided();
    return decided;
  }

  /**
   * Waits until the approval is decided or expires. `onWaiting` is called once if it is still undecided.
   * @throws the signal's reason
   */
  async decided(id: string, signal: AbortSignal, onWaiting: (approval: Approval) => void): Promise<Approval> {
    const bell = new Bell();
    const bells = this.waiting.get(id) ?? new Set();
    this.waiting.set(id, bells.add(bell));
    let leave: (() => void) | undefined;
    try {
      for (;;) {
        signal.throwIfAborted();
        const approval = await this.ports.store.get(id).catch((error: unknown) => {
          // The store may recover before the approval expires.
          this.ports.logger.debug({ error }, 'an approval could not be read');
          return undefined;
        });
        if (approval !== undefined && approval.state !== 'waiting') {
          if (approval.state !== 'approved') await this.end(approval);
          return approval;
        }
        if (approval !== undefined) {
          if (leave === undefined) onWaiting(approval);
          // Waiting does not count toward the turn's own time.
          leave ??= this.ports.clocks.enter(approval.runId ?? undefined);
          if (approval.expiresAt.getTime() <= Date.now()) await this.sweep();
        }
        await bell.heard(pollMs, signal);
      }
    } finally {
      leave?.();
      bells.delete(bell);
      if (bells.size === 0) this.waiting.delete(id);
    }
  }

  /** Called after a new approval has been written. */
  notify(): void {
    this.ports.webhook?.send();
  }

  private async approved(
    approval: Approval,
    decision: ApprovalDecision,
    caller: RequestContext,
  ): Promise<Approval | undefined> {
    const edited =
      decision.arguments === undefined ? undefined : await this.edited(approval, decision.arguments, caller);
    const given: ApprovalDecision = { ...decision, ...(edited === undefined ? {} : { arguments: edited }) };
    return this.ports.store.decide(approval.id, given, approverOf(caller));
  }

  private async answered(
    question: Approval,
    decision: ApprovalDecision,
    caller: RequestContext,
  ): Promise<Approval | undefined> {
    const content =
      decision.decision === 'approve' ? await readQuestionAnswer(question, decision, this.ports.validator) : {};
    return this.ports.questions.answer(question.id, { ...decision, arguments: content }, approverOf(caller));
  }

  /** Ends the parked call with its approval; the call of a question continues. Repeating the write changes nothing. */
  private async end(approval: Approval): Promise<void> {
    if (approval.kind !== 'approval') return;
    const { callId, requestId, keyId } = approval;
    const context = { requestId, ...(keyId === null ? {} : { keyId }) };
    await this.ports.journal.end({ ...context, callId, outcome: refusedOutcome(approval) });
  }

  private async edited(approval: Approval, args: JsonObject, caller: RequestContext): Promise<JsonObject> {
    const { catalog, validator, decide } = this.ports;
    const found = catalog.find(approval.name);
    if (found === undefined || found.definitionHash !== approval.definitionHash) {
      const message = `'${approval.name}' has changed since the call was made: its arguments cannot be edited`;
      throw new AppError('invalid_tool_arguments', message, { http: 400, param: 'arguments' });
    }
    const validated = validator.validate(found, JSON.stringify(args));
    if (!validated.ok) {
      throw new AppError('invalid_tool_arguments', validated.message, { http: 400, param: 'arguments' });
    }
    // The policy judges the principal that made the call, not the approver.
    const asker = {
      ...caller,
      principal: approval.principal,
      ...(approval.keyId === null ? {} : { keyId: approval.keyId }),
    };
    const decision = decide(toolOfCall(found, validated.arguments), validated.arguments, asker);
    if (decision.effect === 'deny') {
      throw new AppError('tool_denied', whyDenied(approval, decision), { param: 'arguments' });
    }
    return validated.arguments;
  }

  /** Runs one sweep at a time; a failed sweep is repeated a moment later. */
  private sweep(): Promise<void> {
    return (this.sweeping ??= this.endLapsed()
      .catch((error: unknown) => this.ports.logger.debug({ error }, 'expired approvals could not be ended'))
      .finally(() => (this.sweeping = undefined)));
  }

  private async endLapsed(): Promise<void> {
    const { store, webhook } = this.ports;
    for (const approval of await store.lapsed(maxSwept)) {
      const { id, kind, state } = approval;
      const closed = (state === 'expired' || state === 'cancelled') && (await store.close(id, state));
      if (closed && kind !== 'sampling') this.ports.onEnded(state);
      await this.end(approval);
      await this.announce(approval.id);
    }
    webhook?.send();
  }

  private ring(id: string): void {
    for (const bell of this.waiting.get(id) ?? []) bell.ring();
  }

  private async announce(id: string): Promise<void> {
    try {
      await this.ports.channels.publish(channelNames.approvals, id, AbortSignal.timeout(publishMs));
    } catch (error) {
      this.ports.logger.warn({ error }, 'a decision could not be announced: gateways find it when they poll');
    }
  }
}

/** Without keys, all callers are the same principal. */
function decidesForOthers({ access, roles }: RequestContext): boolean {
  return roles?.includes(approverRole) === true || access?.scopes.includes('admin') === true;
}

function approverOf({ principal, requestId, keyId, ip }: RequestContext): Approver {
  return { principal, requestId, ...(keyId === undefined ? {} : { keyId }), ...(ip === undefined ? {} : { ip }) };
}

function alreadyDecided({ state, decidedBy }: Approval): AppError {
  const how = state === 'waiting' ? 'can no longer be decided' : `is ${state} already`;
  const who = decidedBy === null ? '' : ` (by ${decidedBy})`;
  return new AppError('approval_already_decided', `This approval ${how}${who}`);
}
