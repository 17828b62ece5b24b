// One call of a tool in the gateway, from its plan to its outcome: the row of the journal, the job of the queue, and the
// headers that go along are made once and from one place.
import { mintSealedReference, type SealedReference } from '#libs/backing/sealed-values.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { AuditContext, PlannedCall } from '#libs/runs/run-store.js';
import type { CallContext, RequestContext } from '#libs/schemas/call-context.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { maxCarriedArgumentsBytes, type ToolJob } from '#libs/schemas/tool-job.js';

export interface ServerCallOptions {
  tool: CatalogTool;
  /** As validated. */
  arguments: JsonObject;
  /** The gateway whose reply channel gets the outcome. */
  replyTo: string;
  /** The call was planned by a gateway that is gone: it runs only if nobody has begun it, else its outcome is waited for. */
  again?: boolean;
  /** The rule that allowed it, for the audit. */
  policyRule?: string;
  /** How questions of its tool server wait, if its caller can be asked. */
  questions?: NonNullable<ToolJob['questions']>;
}

export class ServerCall {
  readonly tool: CatalogTool;
  readonly arguments: JsonObject;
  readonly argumentsText: string;
  readonly again: boolean;
  readonly policyRule: string | undefined;
  readonly audit: AuditContext;
  /** Headers of the caller that the tool's server is sent, by names in small letters. Undefined if there are none. */
  readonly forwarded: Readonly<Record<string, string>> | undefined;
  /** Where they are, sealed: a job carries no secret. */
  readonly sealedHeaders: SealedReference | undefined;
  readonly job: ToolJob;

  constructor(
    options: ServerCallOptions,
    public context: CallContext,
  ) {
    this.tool = options.tool;
    this.arguments = options.arguments;
    this.argumentsText = JSON.stringify(options.arguments);
    this.again = options.again === true;
    this.policyRule = options.policyRule;
    this.audit = auditContext(context);
    this.forwarded = forwardedHeaders(this.tool, context);
    this.sealedHeaders = this.forwarded && mintSealedReference();
    this.job = this.toJob(options);
  }

  /** The row of the journal. */
  get planned(): PlannedCall {
    const { tool, context } = this;
    return {
      id: context.callId,
      kind: 'server',
      principal: context.principal,
      sessionId: context.sessionId,
      name: tool.name,
      server: tool.server,
      tool: tool.tool,
      definitionHash: tool.definitionHash,
      arguments: this.arguments,
      safe: tool.safe,
      job: this.job,
      policyRule: this.policyRule,
    };
  }

  /** The call's own time begins: it was planned, and waited for a place or for calls before it. */
  begin(): void {
    Object.assign(this.job, timesOf(this.tool, this.context));
  }

  /** What it causes belongs to this span from now on. */
  trace(traceparent: string): void {
    this.context = { ...this.context, traceparent };
    this.job.traceparent = traceparent;
  }

  /** Others of its turn waited for a person: that does not count. */
  postpone(ms: number): void {
    this.context = { ...this.context, deadline: this.context.deadline + ms };
  }

  private toJob({ replyTo, questions }: ServerCallOptions): ToolJob {
    const { tool, context, audit } = this;
    const isCarried = Buffer.byteLength(this.argumentsText) <= maxCarriedArgumentsBytes;
    const times = timesOf(tool, context);
    return {
      version: isCarried ? 1 : 2,
      callId: context.callId,
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
      arguments: isCarried ? this.arguments : undefined,
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
  }
}

function timesOf({ timeoutMs, maxTimeoutMs }: CatalogTool, { deadline }: CallContext) {
  const queuedAt = steadyNow();
  const left = Math.max(1, Math.floor(deadline - queuedAt));
  return {
    timeoutMs: Math.min(timeoutMs, left),
    maxTimeoutMs: Math.min(Math.max(maxTimeoutMs, timeoutMs), left),
    deadline: Math.min(queuedAt + timeoutMs, deadline),
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

function forwardedHeaders({ forwardHeaders }: CatalogTool, { header }: CallContext): ServerCall['forwarded'] {
  if (forwardHeaders === undefined || header === undefined) return undefined;
  const found = forwardHeaders.flatMap((name) => {
    const value = header(name);
    return value === undefined ? [] : [[name, value]];
  });
  return found.length === 0 ? undefined : (Object.fromEntries(found) as Record<string, string>);
}
