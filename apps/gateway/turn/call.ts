// One call that a model, or a caller of the tools API, asked for: its text as it comes in, who runs it, its row in the journal, its
// job in the queue, what it waits for, and what became of it.
import type { NewApproval } from '#libs/approvals/approval.js';
import { mintSealedReference, type SealedReference } from '#libs/backing/sealed-values.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { AuditContext, PlannedCall, StoredCall } from '#libs/runs/run-store.js';
import type { CallContext, RequestContext } from '#libs/schemas/call-context.js';
import { type JsonObject, jsonObjectOf } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { maxCarriedArgumentsBytes, type ToolJob } from '#libs/schemas/tool-job.js';
import type { CallState, ToolOutcome } from '#libs/schemas/tool-outcome.js';

/** A call with a job: a worker can run it. */
export type RunnableCall = Call & { tool: CatalogTool; job: ToolJob };

export interface JobOptions {
  /** The gateway whose reply channel gets the outcome. */
  replyTo: string;
  /** How questions of its tool server wait, if its caller can be asked. */
  questions: NonNullable<ToolJob['questions']>;
}

const noArguments: JsonObject = {};

export class Call {
  /** `client`: the caller runs it, not a worker. */
  kind: PlannedCall['kind'] = 'server';
  /** The arguments as they were sent: JSON text. */
  sentText = '';
  /** What is wrong with that text. */
  parseError: string | undefined = undefined;
  /** The number among the calls of the run. */
  number = 0;
  /** The number among the calls that its caller is given; null for a call that runs here. */
  clientNumber: number | null = null;
  /** The model has finished the call. */
  complete = false;

  context!: CallContext;
  /** The model round of the turn that tells of the call; 0 for a call of an earlier turn. */
  round = 0;
  server = '';
  /** The tool as this call of it is treated; undefined if no worker runs the call. */
  tool: CatalogTool | undefined = undefined;
  /** The arguments that run, as validated. */
  arguments: JsonObject = noArguments;
  argumentsText = '{}';
  /** The rule of the policy that decided, for the audit. */
  policyRule: string | undefined = undefined;
  audit!: AuditContext;
  job: ToolJob | undefined = undefined;
  /** The call was planned before this process took it up: it runs only if nobody has begun it, else its outcome is waited for. */
  again = false;
  /** Headers of the caller that the tool's server is sent, by names in small letters. Undefined if there are none. */
  forwarded: Readonly<Record<string, string>> | undefined = undefined;
  /** Where these headers are, sealed: a job carries no secret. */
  sealedHeaders: SealedReference | undefined = undefined;

  state: CallState = 'planned';
  /** The approval that is written with a call that needs one. */
  approval: NewApproval | undefined = undefined;
  approvalId: string | undefined = undefined;
  /** The offered tool of a call that needs an approval, before its arguments, which an approver may edit, are considered. */
  offered: CatalogTool | undefined = undefined;
  /** How the call ended. */
  outcome: ToolOutcome | undefined = undefined;
  /** The reader of this turn has been told: of the outcome of a call of ours, of a call that the caller is given. */
  emitted = false;

  constructor(
    readonly id: string,
    readonly name: string,
  ) {}

  /** A call that was journaled before. `context` if it may have to run. */
  static stored(row: StoredCall, context?: CallContext): Call {
    const call = new Call(row.id, row.name);
    call.kind = row.kind;
    call.server = row.server;
    call.use(row.arguments);
    call.policyRule = row.policyRule;
    call.job = row.job;
    call.again = true;
    call.state = row.state;
    call.approvalId = row.approvalId;
    call.outcome = row.outcome;
    if (context !== undefined) call.setContext(context);
    return call;
  }

  /** Who asks for the call, and for which tool, is known. */
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

  /** Gives a call its job: a worker runs `tool` with `args`. */
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
      version: isCarried ? 1 : 2,
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
      name: tool.name,
      definitionHash: tool.definitionHash,
      arguments: isCarried ? args : undefined,
      safe: tool.safe,
      stateful: tool.stateful === true ? true : undefined,
      sealedHeaders: this.sealedHeaders,
      questions: context.questions === undefined ? undefined : questions,
      priority: context.priority,
      timeoutMs: times.timeoutMs,
      maxTimeoutMs: times.maxTimeoutMs,
      deadline: times.deadline,
      queuedAt: times.queuedAt,
    };
    return this as RunnableCall;
  }

  /** The call waits for `approval` before it runs. */
  park(approval: NewApproval, offered: CatalogTool): void {
    this.approval = approval;
    this.approvalId = approval.id;
    this.offered = offered;
    this.state = 'parked';
  }

  end(outcome: ToolOutcome): void {
    this.outcome = outcome;
    this.state = outcome.state;
  }

  /** The call ends before it begins: no worker sees it. */
  refuse(outcome: ToolOutcome): void {
    if (this.job === undefined) this.use(this.sentArguments);
    this.end(outcome);
  }

  /** The call's own time begins: it was planned, and waited for a place or for calls before it. */
  begin(): void {
    if (this.job !== undefined) Object.assign(this.job, timesOf(this.tool!, this.context));
  }

  /** What the call causes belongs to this span from now on. */
  trace(traceparent: string): void {
    this.context = { ...this.context, traceparent };
    this.job!.traceparent = traceparent;
  }

  /** The tool's own name; a model may have called it by another that means the same. */
  get toolName(): string {
    return this.job === undefined || this.tool === undefined ? this.name : this.tool.name;
  }

  /** A worker was, or would have been, asked to run the call: nothing refused it before. */
  get reachedTool(): boolean {
    return this.job !== undefined && this.outcome?.state !== 'denied';
  }

  /** The row of the journal. */
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
      arguments: this.arguments,
      safe: this.job !== undefined && tool!.safe,
      outcome: this.outcome,
      job: this.job,
      policyRule: this.policyRule,
      approval: this.approval,
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
