// One call that a model, or a caller of the tools API, asked for: the text as it comes in, who runs the call, its row in the
// journal, its job in the queue, its approval, and its outcome.
import type { NewApproval, Wait } from '#libs/waits/wait.js';
import { mintSealedReference, type SealedReference } from '#libs/backing/sealed-values.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { AuditContext, PlannedCall, StoredCall } from '#libs/runs/run-store.js';
import type { CallContext, RequestContext } from '#libs/schemas/call-context.js';
import { type JsonObject, jsonObjectOf } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { maxCarriedArgumentsBytes, type ToolJob } from '#libs/schemas/tool-job.js';
import type { CallState, ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { NeededApproval } from '../govern/approval-room.js';

/** A call with a job, which a worker can run. */
export type RunnableCall = Call & { tool: CatalogTool; job: ToolJob };

export interface JobOptions {
  /** The gateway whose reply channel gets the outcome. */
  replyTo: string;
  /** How long a question of the tool server waits, and whether approvers are notified of the question. */
  questions: NonNullable<ToolJob['questions']>;
}

const noArguments: JsonObject = {};

export class Call {
  /** `client`: the caller runs the call, not a worker. */
  kind: PlannedCall['kind'] = 'server';
  /** The arguments as they were sent: JSON text. */
  sentText = '';
  /** Why `sentText` is no JSON object. */
  parseError: string | undefined = undefined;
  /** Position among all calls of the run. */
  number = 0;
  /** Position among the calls that the caller runs; null for a server call. */
  clientNumber: number | null = null;
  /** The model has finished the call. */
  complete = false;

  context!: CallContext;
  /** The round of this turn that has the call; 0 for a call of an earlier turn. */
  round = 0;
  server = '';
  /** The tool as `toolOfCall` narrows it for this call; undefined if no worker runs the call. */
  tool: CatalogTool | undefined = undefined;
  /** The validated arguments, with which the tool runs. */
  arguments: JsonObject = noArguments;
  argumentsText = '{}';
  /** The policy rule that decided about the call; the audit shows the rule. */
  policyRule: string | undefined = undefined;
  audit!: AuditContext;
  job: ToolJob | undefined = undefined;
  /** Another process or turn planned the call: the journal is asked whether the call may still run here. */
  again = false;
  /** Headers of the caller that go to the tool server, by lower-case name. Undefined if there are none. */
  forwarded: Readonly<Record<string, string>> | undefined = undefined;
  /** Where `forwarded` is sealed: a job carries no secret. */
  sealedHeaders: SealedReference | undefined = undefined;

  state: CallState = 'planned';
  /** The approval that the statement that plans the call also writes. */
  approval: NewApproval | undefined = undefined;
  /** What the call is, or was last, parked for. */
  waitId: string | undefined = undefined;
  approvedBefore: PlannedCall['approvedBefore'] = undefined;
  /** The tool as offered. An approver may edit the arguments, so `toolOfCall` is applied again after the decision. */
  offered: CatalogTool | undefined = undefined;
  outcome: ToolOutcome | undefined = undefined;
  /** The event of the call was emitted: the result of a server call, or the call itself if the caller runs it. */
  emitted = false;

  constructor(
    readonly id: string,
    readonly name: string,
  ) {}

  /** A call from its row in the journal. `context` is needed if the call may have to run. */
  static stored(row: StoredCall, context?: CallContext): Call {
    const call = new Call(row.id, row.name);
    call.kind = row.kind;
    call.server = row.server;
    call.use(row.arguments);
    call.policyRule = row.policyRule;
    call.job = row.job;
    call.again = true;
    call.state = row.state;
    call.waitId = row.waitId;
    call.outcome = row.outcome;
    if (context !== undefined) call.setContext(context);
    return call;
  }

  /** Sets who runs the call, for whom, and with which tool. */
  of(kind: PlannedCall['kind'], context: CallContext, tool?: CatalogTool): this {
    this.kind = kind;
    this.setContext(context);
    this.tool = tool;
    this.server = tool?.server ?? '';
    if (kind === 'client') this.use(this.sentArguments);
    return this;
  }

  get sentArguments(): JsonObject {
    return this.parseError === undefined ? jsonObjectOf(this.sentText) : noArguments;
  }

  private use(args: JsonObject): void {
    this.arguments = args;
    this.argumentsText = JSON.stringify(args);
  }

  /** Gives the call a job, so that a worker can run `tool` with `args`. */
  prepare(tool: CatalogTool, args: JsonObject, { replyTo, questions }: JobOptions): RunnableCall {
    const { context, audit } = this;
    this.tool = tool;
    this.server = tool.server;
    this.use(args);
    this.forwarded = forwardedHeaders(tool, context);
    this.sealedHeaders = this.forwarded && mintSealedReference();
    const isCarried = Buffer.byteLength(this.argumentsText) <= maxCarriedArgumentsBytes;
    const times = timesOf(tool, context);
    this.job = {
      version: tool.method !== undefined ? 3 : isCarried ? 1 : 2,
      callId: this.id,
      replyTo,
      principal: context.principal,
      requestId: audit.requestId,
      traceparent: audit.traceparent,
      keyId: audit.keyId,
      ip: audit.ip,
      model: audit.model,
      runId: context.runId,
      round: context.round,
      sessionId: context.sessionId,
      sessionDirectory: undefined,
      server: tool.server,
      tool: tool.tool,
      method: tool.method,
      name: tool.name,
      definitionHash: tool.definitionHash,
      arguments: isCarried ? args : undefined,
      safe: tool.safe,
      stateful: tool.stateful === true ? true : undefined,
      app: tool.appMeta === undefined ? undefined : true,
      sealedHeaders: this.sealedHeaders,
      roles: tool.tellsCaller === true && context.roles !== undefined ? [...context.roles] : undefined,
      questions: context.questions === undefined ? undefined : questions,
      logLevel: context.logLevel,
      priority: context.priority,
      timeoutMs: times.timeoutMs,
      maxTimeoutMs: times.maxTimeoutMs,
      deadline: times.deadline,
      queuedAt: times.queuedAt,
    };
    return this as RunnableCall;
  }

  /** Parks the call until somebody decides, unless its approval was given before, or there is no room for another. */
  needs(needed: NeededApproval, offered: CatalogTool): void {
    if ('refusal' in needed) return this.refuse(needed.refusal);
    this.waitId = 'given' in needed ? needed.given.id : needed.asked.id;
    if ('given' in needed) {
      this.approvedBefore = { id: needed.given.id, approver: needed.given.decidedBy ?? '' };
      return;
    }
    this.approval = needed.asked;
    this.offered = offered;
    this.state = 'parked';
  }

  /** The call was planned, and is parked now: its caller has to sign in at the tool server. */
  park({ id }: Pick<Wait, 'id'>): void {
    this.waitId = id;
    this.offered ??= this.tool;
    this.state = 'parked';
  }

  end(outcome: ToolOutcome): void {
    this.outcome = outcome;
    this.state = outcome.state;
  }

  /** Ends the call before any worker has the job. */
  refuse(outcome: ToolOutcome): void {
    if (this.job === undefined) this.use(this.sentArguments);
    this.end(outcome);
  }

  /** Ends the call with a result that was recorded earlier: nothing runs. */
  answer(args: JsonObject, outcome: ToolOutcome): void {
    this.use(args);
    this.end(outcome);
  }

  /** Starts the timeout anew: the time in which a planned call waited for a place, or for other calls, does not count. */
  begin(): void {
    if (this.job !== undefined) Object.assign(this.job, timesOf(this.tool!, this.context));
  }

  /** Makes everything that the call causes a child of this span. */
  trace(traceparent: string): void {
    this.context = { ...this.context, traceparent };
    this.job!.traceparent = traceparent;
  }

  /** The catalog's name of the tool: a model may have called the tool by another name that means the same. */
  get toolName(): string {
    return this.job === undefined || this.tool === undefined ? this.name : this.tool.name;
  }

  /** Whether the call got as far as its tool: neither bad arguments nor the policy stopped the call. */
  get reachedTool(): boolean {
    return this.job !== undefined && this.outcome?.state !== 'denied';
  }

  /** The call's row in the journal. */
  get row(): PlannedCall {
    const { context, tool } = this;
    return {
      id: this.id,
      kind: this.kind,
      principal: context.principal,
      sessionId: context.sessionId,
      name: this.toolName,
      server: this.server,
      tool: tool?.tool ?? '',
      definitionHash: tool?.definitionHash ?? '',
      method: tool?.method,
      arguments: this.arguments,
      safe: this.job !== undefined && tool!.safe,
      outcome: this.outcome,
      job: this.job,
      policyRule: this.policyRule,
      approval: this.approval,
      approvedBefore: this.approvedBefore,
    };
  }

  private setContext(context: CallContext): void {
    this.context = context;
    this.audit = auditContext(context);
  }
}

function timesOf({ timeoutMs, maxTimeoutMs }: CatalogTool, { deadline: { at } }: CallContext) {
  const queuedAt = steadyNow();
  const left = Math.max(1, Math.floor(at - queuedAt));
  return {
    timeoutMs: Math.min(timeoutMs, left),
    maxTimeoutMs: Math.min(Math.max(maxTimeoutMs, timeoutMs), left),
    deadline: Math.min(queuedAt + timeoutMs, at),
    queuedAt,
  };
}

export const auditContext = (context: RequestContext & Pick<CallContext, 'model'>): AuditContext => ({
  requestId: context.requestId,
  traceparent: context.traceparent,
  keyId: context.keyId,
  ip: context.ip,
  model: context.model,
});

function forwardedHeaders({ forwardHeaders }: CatalogTool, { header }: CallContext): Call['forwarded'] {
  if (forwardHeaders === undefined || header === undefined) return undefined;
  const found = forwardHeaders.flatMap((name) => {
    const value = header(name);
    return value === undefined ? [] : [[name, value]];
  });
  return found.length === 0 ? undefined : (Object.fromEntries(found) as Record<string, string>);
}
