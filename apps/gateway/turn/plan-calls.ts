// Turns the calls of the model into journal rows: who runs each call, and whether it may run at all. A call that cannot run
// gets its outcome here; nothing is dispatched in this file.
import type { NewApproval } from '#libs/approvals/approval.js';
import type { AuditNotes } from '#libs/audit/audit-notes.js';
import type { Decision } from '#libs/policy/decision.js';
import type { PlannedCall } from '#libs/runs/run-store.js';
import type { CallContext, RequestContext } from '#libs/schemas/call-context.js';
import { type JsonObject, jsonObjectOf } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { type Stop, toldToModel } from '#libs/limits/stop-notice.js';
import type { ApprovalRoom } from '../govern/approval-room.js';
import { noteConversion } from '../tools/note-conversion.js';
import type { ServerCall } from './dispatch/server-call.js';
import type { ToolRunner } from './dispatch/tool-runner.js';
import { type ApprovalSettings, type Decide, newApproval, refusalOf } from '../govern/decide.js';
import type { ArgumentValidator } from '../tools/tool-catalog.js';
import { toolOfCall } from '../tools/tool-of-call.js';
import type { AssembledCall } from './assemble-message.js';
import type { OfferedTool, ToolOffer } from './offer-tools.js';

export interface TurnCall {
  planned: PlannedCall;
  /** A server call that may run; if `awaits` is set, only after its approval. */
  runs?: ServerCall;
  /** `tool`: the offered tool, before its arguments are considered. */
  awaits?: { approvalId: string; tool: CatalogTool };
}

export interface PlanPorts {
  validator: ArgumentValidator;
  decide: Decide;
  approval: ApprovalSettings;
  approvalRoom: Pick<ApprovalRoom, 'refusalOf'>;
  /** A tool that the caller was not offered, because the policy denies it for any arguments. */
  deniedTool: (name: string, caller: RequestContext) => CatalogTool | undefined;
  runner: Pick<ToolRunner, 'plan'>;
  notes: Pick<AuditNotes, 'write'>;
}

export interface PlanInput {
  calls: AssembledCall[];
  offer: ToolOffer;
  /** The context of a call, without its id. */
  context: Omit<CallContext, 'callId'>;
  /** Counts a call that would run here. Returns why the turn may not run it. */
  admit: () => Stop | undefined;
}

/** At once, if nothing has to be written or counted first. */
export function planCalls(input: PlanInput, ports: PlanPorts): TurnCall[] | Promise<TurnCall[]> {
  const planned = input.calls.map((call) => planOne(call, input, ports));
  if (planned.every((each) => !(each instanceof Promise))) return planned as TurnCall[];
  return Promise.all(planned.map(async (each) => each));
}

function planOne(call: AssembledCall, input: PlanInput, ports: PlanPorts): TurnCall | Promise<TurnCall> {
  const context: CallContext = { ...input.context, callId: call.id };
  const offered = input.offer.tools.get(call.name);
  if (offered !== undefined && offered.tool === undefined) return { planned: unrun(call, context, 'client') };
  const stop = input.admit();
  if (stop !== undefined) return refused(call, context, failedOutcome('denied', 'tool_denied', toldToModel(stop)));
  if (offered?.tool === undefined) {
    const denied = ports.deniedTool(call.name, context);
    if (denied !== undefined)
      return decidedAgainst(call, context, denied, ports.decide(denied, sentArguments(call), context));
    return refused(call, context, failedOutcome('failed', 'tool_not_found', `Tool '${call.name}' not found`));
  }
  // Models also write all arguments as one text.
  if (call.parseError !== undefined && !call.arguments.startsWith('"')) {
    const message = `${call.parseError}; send one complete JSON object`;
    return refused(call, context, failedOutcome('failed', 'invalid_tool_arguments', message), offered.tool);
  }
  const validated = ports.validator.validate(offered.tool, call.arguments, 'model');
  if (!validated.ok) {
    return refused(call, context, failedOutcome('failed', 'invalid_tool_arguments', validated.message), offered.tool);
  }
  const { sent, arguments: args } = validated;
  const valid = { call, arguments: args, offered, tool: offered.tool, context };
  const decide = () => decideOn(valid, ports);
  return sent === undefined ? decide() : noteConversion(ports.notes, offered.tool, sent, context).then(decide);
}

/** A call of an offered server tool with arguments that it takes. */
interface ValidCall {
  call: AssembledCall;
  arguments: JsonObject;
  offered: OfferedTool;
  tool: CatalogTool;
  context: CallContext;
}

function decideOn(valid: ValidCall, ports: PlanPorts): TurnCall | Promise<TurnCall> {
  const { call, arguments: args, offered, context } = valid;
  const tool = toolOfCall(valid.tool, args);
  const decision = tightened(ports.decide(tool, args, context), offered);
  if (decision.effect === 'deny') return decidedAgainst(call, context, tool, decision);
  const runs = ports.runner.plan(tool, args, context, { policyRule: decision.rule });
  if (decision.effect === 'allow') return { planned: runs.planned, runs };
  return parked(runs, valid.tool, newApproval(args, decision, ports.approval), ports);
}

async function parked(runs: ServerCall, tool: CatalogTool, approval: NewApproval, ports: PlanPorts): Promise<TurnCall> {
  const refusal = await ports.approvalRoom.refusalOf(runs.context.principal, approval.id);
  if (refusal !== undefined) return { planned: { ...runs.planned, outcome: refusal } };
  return { planned: { ...runs.planned, approval }, runs, awaits: { approvalId: approval.id, tool } };
}

/** A request may require approvals that the policy does not require. */
function tightened(decision: Decision, { requiresApproval }: OfferedTool): Decision {
  if (decision.effect !== 'allow' || requiresApproval !== true) return decision;
  return { effect: 'require_approval', rule: 'request', reason: 'The request requires an approval of this tool' };
}

/** The audit row shows the rule that decided, and the arguments it was applied to. */
function decidedAgainst(call: AssembledCall, context: CallContext, tool: CatalogTool, decision: Decision): TurnCall {
  const { planned } = refused(call, context, refusalOf(tool, decision), tool);
  return { planned: { ...planned, policyRule: decision.rule } };
}

function refused(call: AssembledCall, context: CallContext, outcome: ToolOutcome, tool?: CatalogTool): TurnCall {
  return { planned: { ...unrun(call, context, 'server', tool), outcome } };
}

/** A journal row for a call that no worker runs. */
function unrun(call: AssembledCall, context: CallContext, kind: PlannedCall['kind'], tool?: CatalogTool): PlannedCall {
  return {
    id: call.id,
    kind,
    principal: context.principal,
    sessionId: context.sessionId,
    name: call.name,
    server: tool?.server ?? '',
    tool: tool?.tool ?? '',
    definitionHash: tool?.definitionHash ?? '',
    arguments: sentArguments(call),
    safe: false,
  };
}

/** The arguments as sent by the model. */
const sentArguments = ({ parseError, arguments: text }: AssembledCall): JsonObject =>
  parseError === undefined ? jsonObjectOf(text) : {};
