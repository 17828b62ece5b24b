// Asks a server for a resource, a prompt or a completion, as a call on the path of a tool call: decided, journaled, queued, audited.
import type { AuditNote, AuditNotes } from '#libs/audit/audit-notes.js';
import type { PolicyDecision } from '#libs/policy/decision.js';
import { judgedItem, type OfferedItem } from '#libs/policy/judged-item.js';
import type { Journal } from '#libs/runs/run-store.js';
import type { CallContext, RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintCallId } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ServerMethod } from '#libs/schemas/tool-job.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { type Decide, deniedOutcome } from '../../govern/decide.js';
import type { MayUse } from '../../govern/tool-policy.js';
import type { OfferingServer } from '../../tools/tool-catalog.js';
import { Call, type RunnableCall } from '../../turn/call.js';
import type { LateCancels } from '../../turn/dispatch/late-cancels.js';
import type { ToolProgress, ToolRunner } from '../../turn/dispatch/tool-runner.js';

export interface OfferRequestPorts {
  decide: Decide;
  mayUse: MayUse;
  journal: Pick<Journal, 'plan'>;
  notes: Pick<AuditNotes, 'write'>;
  runner: ToolRunner;
  lateCancels: LateCancels;
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
}

/** The kinds of audit rows for what no server has. Other requests have none. */
const noteKinds = new Map<ServerMethod, AuditNote['kind']>([
  ['resources/read', 'resource_read'],
  ['prompts/get', 'prompt_get'],
]);

export class OfferRequests {
  constructor(private readonly ports: OfferRequestPorts) {}

  /** @throws AppError not_found, also for what the caller may not use; no_worker, queue_full, store_unavailable */
  async run(
    request: OfferRequest,
    from: RequestContext,
    onProgress: (progress: ToolProgress) => void,
  ): Promise<ToolOutcome> {
    const { decide, mayUse, runner } = this.ports;
    const { owner, method, params, sessionId } = request;
    if (owner === undefined) return this.unknown(request, from);
    const item = { ...request.item, server: owner.server };
    const tool = toolOf(owner, method);
    const context: CallContext = { ...from, callId: mintCallId(true), sessionId, priority: 'interactive' };
    const decision = decide(judgedItem(item), params, context);
    const call = this.planned(context, tool, { params, decision });
    if (decision.effect !== 'allow' || !mayUse(item, context)) {
      call.refuse(
        decision.effect === 'allow'
          ? failedOutcome('denied', 'tool_forbidden', `This key may not use the server '${owner.server}'`)
          : deniedOutcome(tool, decision),
      );
      await this.ports.journal.plan(call.row, call.audit);
      throw notFound(request);
    }
    // The worker is waited for before the call is journaled, so that a call refused for lack of a worker leaves nothing behind.
    await runner.untilWorker(tool, context);
    await this.plan(call);
    return runner.run(call, onProgress);
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

  private async plan({ id, row, audit }: RunnableCall): Promise<void> {
    const { journal, lateCancels } = this.ports;
    try {
      await journal.plan(row, audit);
    } catch (error) {
      lateCancels.add(id, audit, error);
      throw error;
    }
  }

  /** Audits a request for what no server has; the journal gets no row. */
  private async unknown(request: OfferRequest, from: RequestContext): Promise<never> {
    const { principal, requestId, traceparent, keyId, ip } = from;
    const { method, params, sessionId } = request;
    const kind = noteKinds.get(method);
    if (kind !== undefined) {
      await this.ports.notes.write({
        kind,
        state: 'failed',
        success: false,
        errorCode: 'not_found',
        principal,
        requestId,
        traceparent,
        keyId,
        ip,
        name: method,
        arguments: params,
        sessionId,
      });
    }
    throw notFound(request);
  }
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
