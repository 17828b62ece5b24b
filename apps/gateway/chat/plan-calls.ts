// From what the model asked for to rows of the journal: who runs each call, whether it may run at all.
// A call that cannot run gets its outcome here; nothing is dispatched in this file.
import type { PlannedCall } from '#libs/runs/run-store.js';
import type { CallContext, RequestContext } from '#libs/schemas/call-context.js';
import { type JsonObject, isJsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { type Decide, refusalOf } from '../tools/policy/decide.js';
import type { ArgumentValidator } from '../tools/tool-catalog.js';
import { toolOfCall } from '../tools/tool-of-call.js';
import type { AssembledCall } from './assemble-message.js';
import type { ToolOffer } from './offer-tools.js';

export interface TurnCall {
  planned: PlannedCall;
  context: CallContext;
  /** Of a server call that may run. */
  tool?: CatalogTool;
}

export interface PlanPorts {
  validator: ArgumentValidator;
  decide: Decide;
  /** One that the caller was not offered because the policy denies it whatever its arguments. */
  deniedTool: (name: string, caller: RequestContext) => CatalogTool | undefined;
  /** The journal's row of a server call, with the job that would run it. */
  planCall: (tool: CatalogTool, args: JsonObject, context: CallContext) => PlannedCall;
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
  if (offered !== undefined && offered.tool === undefined) return { planned: unrun(call, context, 'client'), context };
  if (!input.admit())
    return refused(call, context, failedOutcome('denied', 'tool_denied', 'This turn may call no more tools'));
  const called = offered?.tool ?? ports.deniedTool(call.name, context);
  if (called === undefined) {
    return refused(call, context, failedOutcome('failed', 'tool_not_found', `Tool '${call.name}' not found`));
  }
  if (call.parseError !== undefined) {
    const message = `${call.parseError}; send one complete JSON object`;
    return refused(call, context, failedOutcome('failed', 'invalid_tool_arguments', message), called);
  }
  const validated = await ports.validator.validate(called, call.arguments);
  if (!validated.ok) {
    return refused(call, context, failedOutcome('failed', 'invalid_tool_arguments', validated.message), called);
  }
  const tool = toolOfCall(called, validated.arguments);
  const decision = ports.decide(tool, validated.arguments, context);
  const policyRule = decision.rule;
  if (decision.effect !== 'allow') {
    const { planned } = refused(call, context, refusalOf(tool, decision), tool);
    return { planned: { ...planned, arguments: validated.arguments, policyRule }, context };
  }
  return { planned: { ...ports.planCall(tool, validated.arguments, context), policyRule }, context, tool };
}

function refused(call: AssembledCall, context: CallContext, outcome: ToolOutcome, tool?: CatalogTool): TurnCall {
  return { planned: { ...unrun(call, context, 'server', tool), outcome }, context };
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
    arguments: readObject(call),
    safe: false,
  };
}

function readObject(call: AssembledCall): JsonObject {
  if (call.parseError !== undefined) return {};
  try {
    const value: unknown = JSON.parse(call.arguments);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
