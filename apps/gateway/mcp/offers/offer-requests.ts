// Asks a server for a resource, a prompt or a completion, as a call on the path of a tool call: decided, journaled, queued, audited.
import type { AuditNote, AuditNotes } from '#libs/audit/audit-notes.js';
import type { PolicyDecision } from '#libs/policy/decision.js';
import { judgedItem, type OfferedItem, spellingsOf } from '#libs/policy/judged-item.js';
import type { Journal } from '#libs/runs/run-store.js';
import type { CallContext, RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintCallId } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ServerMethod } from '#libs/schemas/tool-job.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { WaitStore } from '#libs/waits/wait-store.js';
import { ApprovalNeeded } from '../../govern/approval-needed.js';
import { type Decide, deniedOutcome } from '../../govern/decide.js';
import type { MayUse } from '../../govern/tool-policy.js';
import type { OfferingServer } from '../../tools/tool-catalog.js';
import { Call, type RunnableCall } from '../../turn/call.js';
import { type DirectCalls, type PreparedToolCall, repeatedOf } from '../../turn/dispatch/call-tool.js';
import type { LateCancels } from '../../turn/dispatch/late-cancels.js';
import type { ToolProgress, ToolRunner } from '../../turn/dispatch/tool-runner.js';

export interface OfferRequestPorts {
  decide: Decide;
  mayUse: MayUse;
  journal: Pick<Journal, 'plan'>;
  notes: Pick<AuditNotes, 'write'>;
  runner: ToolRunner;
  lateCancels: LateCancels;
  /** Go on with what a caller comes back to. */
  calls: Pick<DirectCalls, 'run' | 'settled'>;
  waits: Pick<WaitStore, 'ofCall'>;
}

export interface OfferRequest {
  method: ServerMethod;
  /** The server that has the item; undefined if none does. */
  owner: OfferingServer | undefined;
  /** What the policy judges; its name is that of the server. */
  item: Omit<OfferedItem, 'server'>;
  /** The name that the caller knows. */
  shown: string;
  params: JsonObject;
  sessionId: string;
  /** Sent by a caller that comes back after it was asked, or had to sign in, during this very request. */
  waitId?: string | undefined;
}

/** The kinds of audit rows for what no server has. Other requests have none. */
const noteKinds = new Map<ServerMethod, AuditNote['kind']>([
  ['resources/read', 'resource_read'],
  ['prompts/get', 'prompt_get'],
]);

export class OfferRequests {
  constructor(private readonly ports: OfferRequestPorts) {}

  /**
   * @throws AppError not_found, also for what the caller may not use; approval_not_found, no_worker, queue_full, store_unavailable
   * @throws ApprovalNeeded
   */
  async run(
    request: OfferRequest,
    from: RequestContext,
    onProgress: (progress: ToolProgress) => void,
  ): Promise<ToolOutcome> {
    const { decide, mayUse, runner } = this.ports;
    const { owner, method, params, sessionId } = request;
    if (owner === undefined) return this.unknown(request, from);
    const [item, ...others] = itemsToJudge(owner, request) as [OfferedItem, ...OfferedItem[]];
    const tool = toolOf(owner, method);
    const context: CallContext = { ...from, callId: mintCallId(true), sessionId, priority: 'interactive' };
    let decision = decide(judgedItem(item), params, context);
    let isUsable = mayUse(item, context);
    for (const other of others) {
      if (decision.effect === 'allow') decision = decide(judgedItem(other), { ...params, uri: other.name }, context);
      isUsable &&= mayUse(other, context);
    }
    const call = this.planned(context, tool, { params, decision });
    if (decision.effect !== 'allow' || !isUsable) {
      call.refuse(
        decision.effect === 'allow'
          ? failedOutcome('denied', 'tool_forbidden', `This key may not use the server '${owner.server}'`)
          : deniedOutcome(tool, decision),
      );
      await this.ports.journal.plan(call.row, call.audit);
      throw notFound(request);
    }
    if (request.waitId !== undefined) {
      const before = await this.begunBefore(request.waitId, call);
      return (await before.run(onProgress)).outcome;
    }
    // The worker is waited for before the call is journaled, so that a call refused for lack of a worker leaves nothing behind.
    await runner.untilWorker(tool, context);
    await this.ports.lateCancels.plan(call);
    return this.ports.calls.run(call, onProgress);
  }

  /** The call of the request that `again` repeats. A caller can only name what its own request for the same was asked. */
  private async begunBefore(waitId: string, again: RunnableCall): Promise<PreparedToolCall> {
    const { tool, context } = again;
    const found = await this.ports.waits.ofCall(waitId, repeatedOf(again, context.sessionId));
    if (found?.server !== tool.server) {
      throw new AppError('approval_not_found', 'This request was not asked anything, and did not have to sign in');
    }
    if (found.state === 'waiting') throw new ApprovalNeeded(found);
    return this.ports.calls.settled(found, context, tool);
  }

  private planned(
    context: CallContext,
    tool: CatalogTool,
    { params, decision }: { params: JsonObject; decision: PolicyDecision },
  ): RunnableCall {
    const call = new Call(context.callId, tool.name).of('server', context);
    call.policyRule = decision.rule;
    return this.ports.runner.plan(call, tool, params);
  }

  /** Audits a request for what no server has; the journal gets no row. */
  private async unknown(request: OfferRequest, from: RequestContext): Promise<never> {
    const { method, params, sessionId } = request;
    const kind = noteKinds.get(method);
    if (kind !== undefined) {
      await this.ports.notes.write({
        ...from,
        kind,
        state: 'failed',
        success: false,
        errorCode: 'not_found',
        name: method,
        arguments: params,
        sessionId,
      });
    }
    throw notFound(request);
  }
}

/** A server may read a URI that it has not listed in other ways than the policy: each of them must be allowed. */
function itemsToJudge({ server, offers }: OfferingServer, { method, item }: OfferRequest): OfferedItem[] {
  const { name } = item;
  const isUri = method === 'resources/read' || method === 'resources/subscribe';
  const isPlain = !isUri || offers.resources.some(({ uri }) => uri === name);
  return (isPlain ? [name] : spellingsOf(name)).map((each) => ({ ...item, server, name: each }));
}

/** The same for what is denied and what does not exist. */
function notFound({ item: { kind }, shown }: OfferRequest): AppError {
  const what = kind === 'resource' ? 'Resource' : 'Prompt';
  return new AppError('not_found', `${what} '${shown.slice(0, 256)}' not found`);
}

/** Rows, logs and metrics have the method as the tool: URIs are many, and the arguments have them. */
function toolOf({ server, offers: { call } }: OfferingServer, method: ServerMethod): CatalogTool {
  return {
    ...call,
    server,
    tool: method,
    method,
    name: method,
    description: '',
    inputSchema: {},
    annotations: {},
    definitionHash: '',
    available: true,
    safe: true,
    readOnly: true,
  };
}
