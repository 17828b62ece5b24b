// From what the model asked for to rows of the journal: who runs each call, whether it may run at all.
// A call that cannot run gets its outcome here; nothing is dispatched in this file.
import type { Decision } from '#libs/policy/decision.js';
import type { PlannedCall } from '#libs/runs/run-store.js';
import type { CallContext, RequestContext } from '#libs/schemas/call-context.js';
import { type JsonObject, jsonObjectOf } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { ServerCall } from '../tools/calls/server-call.js';
import type { ToolRunner } from '../tools/calls/tool-runner.js';
import { type ApprovalSettings, type Decide, newApproval, refusalOf } from '../tools/policy/decide.js';
import type { ArgumentValidator } from '../tools/catalog/tool-catalog.js';
import { toolOfCall } from '../tools/catalog/tool-of-call.js';
import type { AssembledCall } from './assemble-message.js';
import type { OfferedTool, ToolOffer } from './offer-tools.js';

export interface TurnCall {
  planned: PlannedCall;
  /** A server call that may run; with `awaits` once that is approved. */
  runs?: ServerCall;
  /** `tool`: as it is offered, whatever the arguments. */
  awaits?: { approvalId: string; tool: CatalogTool };
}

export interface PlanPorts {
  validator: ArgumentValidator;
  decide: Decide;
  approval: ApprovalSettings;
  /** A tool that the caller was not offered, because the policy denies it whatever its arguments. */
  deniedTool: (name: string, caller: RequestContext) => CatalogTool | undefined;
  runner: Pick<ToolRunner, 'plan'>;
}

export interface PlanInput {
  calls: AssembledCall[];
  offer: ToolOffer;
  /** Of a call, without its id. */
  context: Omit<CallContext, 'callId'>;
  admit: () => boolean;
}

export function planCalls(input: PlanInput, ports: PlanPorts): Promise<TurnCall[]> {
  return Promise.all(input.calls.map((call) => planOne(call, input, ports)));
}

async function planOne(call: AssembledCall, input: PlanInput, ports: PlanPorts): Promise<TurnCall> {
  const context: CallContext = { ...input.context, callId: call.id };
  const offered = input.offer.tools.get(call.name);
  if (offered !== undefined && offered.tool === undefined) return { planned: unrun(call, context, 'client') };
  if (!input.admit())
    return refused(call, context, failedOutcome('denied', 'tool_denied', 'This turn may call no more tools'));
  if (offered?.tool === undefined) {
    const denied = ports.deniedTool(call.name, context);
    if (denied !== undefined)
      return decidedAgainst(call, context, denied, ports.decide(denied, sentArguments(call), context));
    return refused(call, context, failedOutcome('failed', 'tool_not_found', `Tool '${call.name}' not found`));
  }
  if (call.parseError !== undefined) {
    const message = `${call.parseError}; send one complete JSON object`;
    return refused(call, context, failedOutcome('failed', 'invalid_tool_arguments', message), offered.tool);
  }
  const validated = await ports.validator.validate(offered.tool, call.arguments);
  if (!validated.ok) {
    return refused(call, context, failedOutcome('failed', 'invalid_tool_arguments', validated.message), offered.tool);
  }
  const tool = toolOfCall(offered.tool, validated.arguments);
  const decision = tightened(ports.decide(tool, validated.arguments, context), offered);
  if (decision.effect === 'deny') return decidedAgainst(call, context, tool, decision);
  const runs = ports.runner.plan(tool, validated.arguments, context, { policyRule: decision.rule });
  if (decision.effect === 'allow') return { planned: runs.planned, runs };
  const approval = newApproval(validated.arguments, decision, ports.approval);
  return { planned: { ...runs.planned, approval }, runs, awaits: { approvalId: approval.id, tool: offered.tool } };
}

/** A request may ask for approvals that the policy does not ask for. */
function tightened(decision: Decision, { requiresApproval }: OfferedTool): Decision {
  if (decision.effect !== 'allow' || requiresApproval !== true) return decision;
  return { effect: 'require_approval', rule: 'request', reason: 'The request asks for an approval of this tool' };
}

/** The rule that decided is in the row of the audit, with the arguments that it decided on. */
function decidedAgainst(call: AssembledCall, context: CallContext, tool: CatalogTool, decision: Decision): TurnCall {
  const { planned } = refused(call, context, refusalOf(tool, decision), tool);
  return { planned: { ...planned, policyRule: decision.rule } };
}

function refused(call: AssembledCall, context: CallContext, outcome: ToolOutcome, tool?: CatalogTool): TurnCall {
  return { planned: { ...unrun(call, context, 'server', tool), outcome } };
}

/** A row for a call that no job of ours runs. */
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

/** As the model sent them. */
const sentArguments = ({ parseError, arguments: text }: AssembledCall): JsonObject =>
  parseError === undefined ? jsonObjectOf(text) : {};
