// Calls one tool outside of a chat (tools API, MCP endpoint): resolves, validates, decides, journals and runs the call as a
// model's call is. A refused call is journaled and audited too.
import { allowsTool } from '#libs/access/access.js';
import type { Wait } from '#libs/waits/wait.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { AuditNotes } from '#libs/audit/audit-notes.js';
import { parkedOutcome, waitKinds } from '#libs/waits/wait-kinds.js';
import type { RepeatedCall, WaitStore } from '#libs/waits/wait-store.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { PolicyDecision } from '#libs/policy/decision.js';
import type { Journal } from '#libs/runs/run-store.js';
import type { CallContext, RequestContext } from '#libs/schemas/call-context.js';
import { AppError, isToolErrorCode } from '#libs/schemas/errors.js';
import { type JsonObject, jsonObjectOf } from '#libs/schemas/json.js';
import { mintCallId, mintSessionId } from '#libs/schemas/identifiers.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { ApprovalRoom } from '../../govern/approval-room.js';
import { ApprovalNeeded } from '../../govern/approval-needed.js';
import type { Waits } from '../../govern/waits.js';
import { Call, type RunnableCall } from '../call.js';
import { outcomeElsewhere } from '../wait.js';
import type { SamplingDesk } from './dispatch-services.js';
import { noteConversion } from '../../tools/note-conversion.js';
import type { LateCancels } from './late-cancels.js';
import { type Decide, deniedOutcome } from '../../govern/decide.js';
import type { ArgumentValidator, ToolCatalog } from '../../tools/tool-catalog.js';
import { realTool, toolOfCall, toolWithin } from '../../tools/tool-of-call.js';
import type { ToolProgress, ToolRunner } from './tool-runner.js';

export interface ToolCallRequest {
  name: string;
  /** JSON text of an object. */
  argumentsText: string;
  sessionId?: string;
  /** Where the name is looked up; absent: in the whole catalog. */
  among?: Pick<ToolCatalog, 'find'>;
  /** Sent by a caller that comes back after it was asked for the approval of this very call. */
  approvalId?: string;
  /** At most the tool's own maximum. */
  timeoutMs?: number;
  /** Who wrote the arguments; only a model's are converted. */
  from?: 'model';
}

/** A call that the gateway itself answers: no tool of a server. */
export type OwnToolCall = Pick<ToolCallRequest, 'name'> & { sessionId: string; arguments: JsonObject };

export interface EndedToolCall {
  id: string;
  sessionId: string;
  tool: CatalogTool;
  outcome: ToolOutcome;
}

export interface PreparedToolCall {
  tool: CatalogTool;
  context: CallContext;
  /** Runs the call; failures of the tool are outcomes. @throws AppError no_worker, queue_full, store_unavailable */
  run(onProgress: (progress: ToolProgress) => void): Promise<EndedToolCall>;
}

export interface ToolCallPorts {
  catalog: Pick<ToolCatalog, 'find'>;
  validator: ArgumentValidator;
  decide: Decide;
  approvalRoom: Pick<ApprovalRoom, 'approvalOf'>;
  approvals: {
    store: Pick<WaitStore, 'get' | 'ofCall' | 'ofRepeatedCall' | 'firstSignIn'>;
    questions: Pick<SamplingDesk, 'open'>;
    waits: Pick<Waits, 'notify' | 'end'>;
  };
  /** A tool that the policy denies to the caller, whatever its arguments. */
  deniedTool: (name: string, caller: RequestContext) => CatalogTool | undefined;
  journal: Journal;
  notes: Pick<AuditNotes, 'write'>;
  runner: ToolRunner;
  lateCancels: LateCancels;
}

interface Undecided {
  tool: CatalogTool;
  decision: PolicyDecision;
  context: CallContext;
  arguments: JsonObject;
}

export class DirectCalls {
  constructor(private readonly ports: ToolCallPorts) {}

  /**
   * @throws AppError tool_not_found, tool_forbidden, invalid_tool_arguments, tool_denied, approval_not_found,
   *   too_many_approvals, store_unavailable, no_worker
   * @throws ApprovalNeeded
   */
  async prepare(request: ToolCallRequest, from: RequestContext): Promise<PreparedToolCall> {
    const named = (request.among ?? this.ports.catalog).find(request.name);
    if (named === undefined) return this.unknown(request, from);
    const found = realTool(named);
    const offered = toolWithin(found, request.timeoutMs);
    const context: CallContext = {
      ...from,
      callId: mintCallId(true),
      sessionId: request.sessionId ?? mintSessionId(),
      priority: 'interactive',
    };
    if (!allowsTool(from.access, found)) {
      const message = `This key may not use '${found.name}'`;
      return this.refuse(
        this.planned(context, found, jsonObjectOf(request.argumentsText)),
        failedOutcome('denied', 'tool_forbidden', message),
      );
    }
    if (this.ports.deniedTool(found.name, from) !== undefined) {
      // The policy denies any call of the tool, so the arguments are not validated: errors would show the schema.
      const args = jsonObjectOf(request.argumentsText);
      const decision = this.ports.decide(offered, args, context);
      return this.refuse(this.planned(context, offered, args, decision.rule), deniedOutcome(offered, decision));
    }
    const validated = this.ports.validator.validate(offered, request.argumentsText, request.from);
    if (!validated.ok) {
      // Invalid arguments are not journaled.
      return this.refuse(
        this.planned(context, offered, {}),
        failedOutcome('failed', 'invalid_tool_arguments', validated.message),
      );
    }
    if (validated.sent !== undefined) await noteConversion(this.ports.notes, offered, validated.sent, context);
    const tool = toolOfCall(offered, validated.arguments);
    const decision = this.ports.decide(tool, validated.arguments, context);
    const undecided = { tool, decision, context, ...validated };
    if (decision.effect !== 'deny' && request.approvalId !== undefined) return this.comesBack(request, undecided);
    if (decision.effect === 'require_approval') return this.whenApproved(request, undecided);
    const call = this.planned(context, tool, validated.arguments, decision.rule);
    if (decision.effect === 'deny') return this.refuse(call, deniedOutcome(tool, decision));
    // The worker is waited for before the call is journaled, so that a call refused for lack of a worker leaves nothing behind.
    await this.ports.runner.untilWorker(tool, context);
    await this.ports.lateCancels.plan(call);
    return this.prepared(call, request);
  }

  /** The parked call of an approval that was given. The call runs once, whoever asks for it and how often. `known`: what it calls. */
  async approved(approval: Wait, from: RequestContext, known?: CatalogTool): Promise<PreparedToolCall> {
    const found = known ?? this.ports.catalog.find(approval.name);
    if (found === undefined) throw toolNotFound(approval.name);
    const { callId, sessionId, definitionHash, arguments: args } = approval;
    const context: CallContext = { ...from, callId, sessionId, priority: 'interactive' };
    const tool = toolOfCall({ ...found, definitionHash }, args);
    await this.ports.runner.untilWorker(tool, context);
    const call = this.planned(context, tool, args);
    call.again = true;
    return this.prepared(call);
  }

  /** The call of a wait that has ended: it runs if it was parked and may run; else its outcome, or its next question, is waited for. */
  settled(wait: Wait, from: RequestContext, known?: CatalogTool): Promise<PreparedToolCall> {
    const { kind, state, name, callId, sessionId } = wait;
    const isParked = waitKinds[kind].call === 'parked';
    if (isParked && state === 'approved') return this.approved(wait, from, known);
    const tool = known ?? this.ports.catalog.find(name);
    if (tool === undefined) throw toolNotFound(name);
    const context: CallContext = { ...from, callId, sessionId, priority: 'interactive' };
    const refusal = parkedOutcome(wait);
    const outcome = async () => refusal ?? (await this.outcomeOf(context));
    return Promise.resolve({
      tool,
      context,
      run: async () => ({ id: callId, sessionId, tool, outcome: await outcome() }),
    });
  }

  private async outcomeOf(context: CallContext): Promise<ToolOutcome> {
    const { journal, approvals } = this.ports;
    const outcome = await outcomeElsewhere(
      context.callId,
      context,
      { journal, questions: approvals.questions },
      {
        mayWait: () => steadyNow() <= context.deadline.at,
        onAsked: (asked) => {
          throw new ApprovalNeeded(asked);
        },
      },
    );
    if (outcome !== undefined) return outcome;
    throw new AppError('tool_timeout', 'The call did not finish in time; its outcome will be in the audit');
  }

  /** Parks the call. A repeated call finds the approval of the first call. */
  private async whenApproved(
    { sessionId, name }: ToolCallRequest,
    { tool, decision, context, arguments: args }: Undecided,
  ): Promise<PreparedToolCall> {
    const { approvals, approvalRoom, journal } = this.ports;
    const found = await approvals.store.ofRepeatedCall(repeatedOf({ tool, context, arguments: args }, sessionId));
    if (found?.state === 'approved') return this.approved(found, context);
    if (found !== undefined) throw new ApprovalNeeded(found);
    const call = this.planned(context, tool, args, decision.rule);
    call.needs(await approvalRoom.approvalOf(call, decision, sessionId), tool);
    if (call.outcome !== undefined) return this.refuse(call, call.outcome);
    if (call.state !== 'parked') {
      await this.ports.lateCancels.plan(call);
      return this.prepared(call, { sessionId });
    }
    await journal.plan(call.row, call.audit);
    approvals.waits.notify();
    const written = await approvals.store.get(call.waitId!);
    if (written === undefined) throw toolNotFound(name);
    throw new ApprovalNeeded(written);
  }

  /** Continues a call after its approval. A caller can only name an approval of its own for the same tool, arguments and session. */
  private async comesBack(
    { approvalId = '', sessionId }: ToolCallRequest,
    { tool, context, arguments: args }: Undecided,
  ): Promise<PreparedToolCall> {
    const call = repeatedOf({ tool, context, arguments: args }, sessionId);
    const found = await this.ports.approvals.store.ofCall(approvalId, call);
    if (found === undefined) throw new AppError('approval_not_found', 'This call has no such approval');
    if (found.state === 'waiting') throw new ApprovalNeeded(found);
    return this.settled(found, context);
  }

  /**
   * Answers a call of a tool of the gateway's own. It is journaled, audited and measured as any; a failure of the tool is, too.
   * @throws AppError what `work` throws; store_unavailable
   */
  async answer(
    { name, sessionId, arguments: args }: OwnToolCall,
    from: RequestContext,
    work: () => Promise<ToolOutcome>,
  ): Promise<Omit<EndedToolCall, 'tool'>> {
    const context: CallContext = { ...from, callId: mintCallId(true), sessionId, priority: 'interactive' };
    const call = new Call(context.callId, name).of('server', context);
    let failure: AppError | undefined;
    await this.ports.runner.answer(call, args, async () => {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof AppError) || !isToolErrorCode(error.code)) throw error;
        failure = error;
        return failedOutcome(error.code === 'cancelled' ? 'cancelled' : 'failed', error.code, error.message);
      }
    });
    await this.ports.journal.plan(call.row, call.audit);
    if (failure !== undefined) throw failure;
    return { id: call.id, sessionId, outcome: call.outcome! };
  }

  private planned(context: CallContext, tool: CatalogTool, args: JsonObject, policyRule?: string): RunnableCall {
    const call = new Call(context.callId, tool.name).of('server', context);
    call.policyRule = policyRule;
    return this.ports.runner.plan(call, tool, args);
  }

  private prepared(call: RunnableCall, asked?: Pick<ToolCallRequest, 'sessionId'>): PreparedToolCall {
    const { tool, context } = call;
    return {
      tool,
      context,
      run: async (onProgress) => {
        const outcome = await this.run(call, onProgress, asked);
        return { id: context.callId, sessionId: context.sessionId, tool, outcome };
      },
    };
  }

  /**
   * Runs a planned call. One that is repeated waits for the sign-in that the first waits for, and ends itself. `asked`: as its sender named
   * the session, if not as the call has it.
   * @throws ApprovalNeeded
   */
  async run(
    call: RunnableCall,
    onProgress: (progress: ToolProgress) => void,
    asked: Pick<ToolCallRequest, 'sessionId'> = call.context,
  ): Promise<ToolOutcome> {
    const { approvals, runner } = this.ports;
    try {
      return await runner.run(call, onProgress);
    } catch (error) {
      if (!(error instanceof ApprovalNeeded) || error.approval.kind !== 'sign_in') throw error;
      const first = await approvals.store.firstSignIn(repeatedOf(call, asked.sessionId));
      if (first === undefined || first.id === error.approval.id) throw error;
      await approvals.waits.end(error.approval, 'cancelled');
      throw new ApprovalNeeded(first);
    }
  }

  /** Audits a call of an unknown tool; the journal gets no row. */
  private async unknown({ name, argumentsText, sessionId }: ToolCallRequest, from: RequestContext): Promise<never> {
    await this.ports.notes.write({
      ...from,
      kind: 'tool_call',
      state: 'failed',
      success: false,
      errorCode: 'tool_not_found',
      name: name.slice(0, 256),
      arguments: jsonObjectOf(argumentsText),
      ...(sessionId === undefined ? {} : { sessionId }),
    });
    throw toolNotFound(name);
  }

  private async refuse(call: RunnableCall, outcome: ToolOutcome): Promise<never> {
    call.refuse(outcome);
    await this.ports.journal.plan(call.row, call.audit);
    throw failureOf(call.tool, outcome);
  }
}

/** What makes a call outside of runs the same as one before it. Without a session it is that of any. */
export const repeatedOf = (
  { tool, context, arguments: args }: Pick<RunnableCall, 'tool' | 'context' | 'arguments'>,
  sessionId: string | undefined,
): RepeatedCall => ({
  principal: context.principal,
  name: tool.name,
  argumentsHash: canonicalHash(args),
  sessionId,
});

export function toolNotFound(name: string): AppError {
  return new AppError('tool_not_found', `Tool '${name.slice(0, 256)}' not found`, { toolName: name.slice(0, 256) });
}

/** The error with which the tools API answers a tool's failure, or a denied call. */
export function failureOf(tool: Pick<CatalogTool, 'name'>, { error: toolError, state }: ToolOutcome): AppError {
  const { code, message } = toolError ?? { code: 'tool_failed' as const, message: 'no reason was given' };
  const details = { toolName: tool.name, ...(toolError === undefined ? {} : { toolError }) };
  const isRefused = state === 'denied' || code === 'tool_not_found';
  return new AppError(code, isRefused ? message : `Tool execution failed: ${message}`, details);
}
