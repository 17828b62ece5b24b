// Plans the calls of a message: who runs each call, and whether the call may run at all. A call that may not run gets its outcome
// here; nothing is dispatched in this file.
import type { AuditNotes } from '#libs/audit/audit-notes.js';
import type { PolicyDecision } from '#libs/policy/decision.js';
import type { CallContext, RequestContext } from '#libs/schemas/call-context.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { failedOutcome } from '#libs/schemas/tool-outcome.js';
import { type Stop, noticeForModel } from '#libs/limits/stop-notice.js';
import type { ApprovalRoom } from '../govern/approval-room.js';
import { type Decide, deniedOutcome } from '../govern/decide.js';
import { noteConversion } from '../tools/note-conversion.js';
import type { ArgumentValidator, SchemaOwner, ValidatedArguments } from '../tools/tool-catalog.js';
import { toolOfCall } from '../tools/tool-of-call.js';
import type { Call, RunnableCall } from './call.js';
import type { ToolRunner } from './dispatch/tool-runner.js';
import type { OfferedTool } from './offer/offered-tool.js';
import { findToolsOwner, type ToolSearch } from './offer/tool-search.js';
import { isSearch, offeredTool, type ToolOffer } from './offer-tools.js';

/** An offered tool that runs here. */
type ServerTool = OfferedTool & { tool: CatalogTool };

export interface PlanPorts {
  validator: ArgumentValidator;
  decide: Decide;
  approvalRoom: Pick<ApprovalRoom, 'approvalOf'>;
  /** A tool that the caller was not offered, because the policy denies it for any arguments. */
  deniedTool: (name: string, caller: RequestContext) => CatalogTool | undefined;
  runner: Pick<ToolRunner, 'plan' | 'answer'>;
  notes: Pick<AuditNotes, 'write'>;
}

export interface PlanInput {
  offer: ToolOffer;
  /** The context of a call, without its id. */
  context: Omit<CallContext, 'callId'>;
  /** Counts a call that would run here. Returns why the turn may not run it. */
  admit: () => Stop | undefined;
}

/** Returns no promise if nothing has to be written or counted first. */
export function planCalls(calls: readonly Call[], input: PlanInput, ports: PlanPorts): Promise<void> | undefined {
  let waits: Promise<void>[] | undefined;
  for (const call of calls) {
    const planning = planOne(call, input, ports);
    if (planning !== undefined) (waits ??= []).push(planning);
  }
  return waits && Promise.all(waits).then(() => undefined);
}

function planOne(
  call: Call,
  { offer, context: shared, admit }: PlanInput,
  ports: PlanPorts,
): Promise<void> | undefined {
  const context: CallContext = { ...shared, callId: call.id };
  call.round = shared.round ?? 0;
  const offered = offeredTool(offer, call.name);
  if (offered !== undefined && offered.tool === undefined) {
    call.of('client', context);
    return undefined;
  }
  const stop = admit();
  call.of('server', context, stop === undefined ? offered?.tool : undefined);
  if (stop !== undefined) call.refuse(failedOutcome('denied', 'tool_denied', noticeForModel(stop)));
  else if (isSearch(offer, call.name)) return planSearch(call, offer.search!, ports);
  else if (offered?.tool === undefined) planUnknown(call, context, ports);
  else return planOffered(call, offered as ServerTool, ports);
  return undefined;
}

function planOffered(call: Call, offered: ServerTool, ports: PlanPorts): Promise<void> | undefined {
  const validated = validate(call, offered.tool, ports, offered.fromModel);
  if (!validated.ok) {
    call.refuse(failedOutcome('failed', 'invalid_tool_arguments', validated.message));
    return undefined;
  }
  const { sent, arguments: args } = validated;
  if (sent === undefined) return decideOn(call, args, offered, ports);
  return noteConversion(ports.notes, offered.tool, sent, call.context).then(() => decideOn(call, args, offered, ports));
}

function validate(
  call: Call,
  owner: SchemaOwner,
  ports: Pick<PlanPorts, 'validator'>,
  fromModel = call.context.model !== undefined,
): ValidatedArguments {
  // A model may also write all arguments as one JSON string, which the validator unpacks.
  if (call.parseError !== undefined && !call.sentText.startsWith('"'))
    return { ok: false, message: `${call.parseError}; send one complete JSON object` };
  return ports.validator.validate(owner, call.sentText, fromModel ? 'model' : undefined);
}

/** The gateway answers at once, so the call is journaled with its outcome, as a refused one. */
async function planSearch(call: Call, search: ToolSearch, ports: PlanPorts): Promise<void> {
  const validated = validate(call, findToolsOwner, ports);
  if (!validated.ok) return call.refuse(failedOutcome('failed', 'invalid_tool_arguments', validated.message));
  const { arguments: args } = validated;
  await ports.runner.answer(call, args, () => search.answer(args, call.context.signal));
}

/** A tool that the caller was not offered. */
function planUnknown(call: Call, context: CallContext, ports: PlanPorts): void {
  const denied = ports.deniedTool(call.name, context);
  if (denied === undefined) {
    call.refuse(failedOutcome('failed', 'tool_not_found', `Tool '${call.name}' not found`));
    return;
  }
  deny(call.of('server', context, denied), denied, ports.decide(denied, call.sentArguments, context));
}

function decideOn(call: Call, args: JsonObject, offered: ServerTool, ports: PlanPorts): Promise<void> | undefined {
  const { context } = call;
  const tool = toolOfCall(offered.tool, args);
  const decision = tightened(ports.decide(tool, args, context), offered);
  if (decision.effect === 'deny') {
    deny(call, tool, decision);
    return undefined;
  }
  call.policyRule = decision.rule;
  const runnable = ports.runner.plan(call, tool, args);
  return decision.effect === 'allow' ? undefined : park(runnable, decision, offered.tool, ports);
}

async function park(
  call: RunnableCall,
  decision: PolicyDecision,
  offered: CatalogTool,
  ports: PlanPorts,
): Promise<void> {
  call.needs(await ports.approvalRoom.approvalOf(call, decision, call.context.sessionId), offered);
}

/** Adds the approval that the request requires of a call that the policy allows. */
function tightened(decision: PolicyDecision, { requiresApproval }: OfferedTool): PolicyDecision {
  if (decision.effect !== 'allow' || requiresApproval !== true) return decision;
  return { effect: 'require_approval', rule: 'request', reason: 'The request requires an approval of this tool' };
}

/** Refuses the call; the audit row shows the rule that decided, and the arguments as they were sent. */
function deny(call: Call, tool: CatalogTool, decision: PolicyDecision): void {
  call.policyRule = decision.rule;
  call.refuse(deniedOutcome(tool, decision));
}
