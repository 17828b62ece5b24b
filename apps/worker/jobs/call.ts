// One call in this worker, from its job to its reply: claim, time limits, questions, outcome and stop. run-call.ts runs its
// steps.
import type { JobDelivery } from '#libs/backing/job-queue.js';
import { type Answer, maxQuestionsOfCall, type Question } from '#libs/waits/question.js';
import {
  type SamplingAnswer,
  samplingMs,
  samplingLeaseMs,
  type SamplingRequest,
} from '#libs/waits/sampling-request.js';
import { stopClocks, type WaitKind, waitKinds } from '#libs/waits/wait-kinds.js';
import { holdSecrets } from '#libs/audit/known-secrets.js';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { ConnectionNeeded } from '#libs/connections/connection-needed.js';
import type { Logger } from '#libs/logging/logger.js';
import type { CallEnd, Journal } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolJob, ToolLog } from '#libs/schemas/tool-job.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { processSpan } from '#libs/tracing/spans.js';
import { type Span, tracing } from '#libs/tracing/tracing.js';
import type { StepAside, UseOptions } from '../mcp/pool/pool-instance.js';
import type { PoolUser } from '../mcp/servers/configured-server.js';
import type { ToolCallOptions } from '../mcp/wire/call-scope.js';
import type { Progress } from '../mcp/wire/guarded-transport.js';
import type { ReplySender } from './reply-sender.js';

export type StopReason = 'cancelled' | 'tool_timeout';

/** The abort reason of a stopped call. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
  constructor(readonly reason: StopReason) {
    super(reason);
  }
}

export interface CallParts {
  workerId: string;
  journal: Pick<Journal, 'claim'>;
  replies: Pick<ReplySender, 'send'>;
  /** Called when the call is claimed and its time limits are paused. */
  questions: {
    ask(call: WorkerCall, question: Question, signal: AbortSignal): Promise<Answer>;
    sample(call: WorkerCall, request: SamplingRequest, signal: AbortSignal): Promise<SamplingAnswer>;
  };
  logger: Logger;
}

/** A safe call that ends within this time is written only with its outcome. */
const claimAfterMs = 1_000;

export class WorkerCall implements UseOptions, ToolCallOptions {
  readonly job: ToolJob;
  readonly redelivered: boolean;
  readonly repeated: boolean;
  /** Capped at the longest possible wait: the gateway's clock may differ. */
  readonly queueWaitMs: number;
  /** Covers the call from its delivery to its reply. */
  readonly span: Span | undefined;
  readonly user: PoolUser;
  /** The fence of the claim; undefined while the call is not claimed. */
  fence: string | undefined;
  arguments: JsonObject | undefined;
  /** The isolation of the server, as in the audit. */
  isolation: string | undefined;
  outcome: ToolOutcome | undefined;
  /** Why the tool could not begin, if its caller has to sign in first. */
  connectionNeeded: ConnectionNeeded | undefined;
  /** The outcome as JSON, once it is written. */
  outcomeText: string | undefined;
  forgetSecrets: (() => void) | undefined;
  stepAside: StepAside | undefined;
  /** When the tool was started, by `performance.now()`; 0: not started. */
  private startedAt = 0;
  /** The call's maximum time, without pauses. */
  private limit = new Deadline(Infinity);
  /** How long the call had run at the last progress. */
  private heardMs = 0;
  /** Whether time limits apply: the tool runs and waits for no answer. */
  private isTimed = false;
  /** When the call must be claimed, by `steadyNow()`. */
  private claimAt = Infinity;
  private timer: NodeJS.Timeout | undefined;
  private claiming: Promise<void> | undefined;
  private readonly controller = new AbortController();
  readonly signal = this.controller.signal;
  private questions = 0;
  private asking: Promise<unknown> | undefined;
  /** Aborts open questions when the call ends. */
  private over: AbortController | undefined;

  constructor(
    { job, redelivered, repeated = false }: JobDelivery,
    private readonly parts: CallParts,
  ) {
    this.job = job;
    this.redelivered = redelivered;
    this.repeated = repeated;
    this.queueWaitMs = Math.min(Math.max(0, steadyNow() - job.queuedAt), job.deadline - job.queuedAt);
    this.arguments = job.arguments;
    this.span = tracing?.start(processSpan(job.callId), job.traceparent);
    this.user = { principal: job.principal, sessionId: job.sessionId, directory: '', headers: undefined };
  }

  /** Redacts the secrets from logs and results until `forgetSecrets`. An ended call sends some last requests: they hold nothing. */
  holdSecrets(secrets: readonly string[]): void {
    if (this.outcome !== undefined) return;
    const others = this.forgetSecrets;
    const forget = holdSecrets(secrets);
    this.forgetSecrets = () => {
      others?.();
      forget();
    };
  }

  /** False if the call is no longer planned. @throws AppError store_unavailable */
  async claim(): Promise<boolean> {
    const { journal, workerId: worker } = this.parts;
    const claimed = await journal.claim({
      callId: this.job.callId,
      worker,
      withArguments: this.arguments === undefined,
    });
    if (claimed === undefined) return false;
    this.fence = claimed.fence;
    this.arguments ??= claimed.arguments;
    return true;
  }

  /**
   * Claims a safe call that takes long, which otherwise looks as if no worker had taken it. If the call has ended meanwhile
   * (cancelled, given up), its run is stopped.
   */
  private claimLate(): Promise<void> {
    this.claimAt = Infinity;
    return (this.claiming ??= this.claim().then(
      (claimed) => {
        if (!claimed) this.stop('cancelled');
      },
      (error: unknown) => this.parts.logger.warn({ error, tool: this.job.name }, 'a long call could not be claimed'),
    ));
  }

  get maxTimeoutMs(): number {
    return this.job.maxTimeoutMs;
  }

  get questionsMs(): number {
    return maxQuestionsOfCall * Math.max(this.job.questions?.expiresMs ?? 0, samplingMs + samplingLeaseMs);
  }

  /** Until when the tool may be silent, at most the maximum time, by `steadyNow()`. A pause for questions moves it. */
  get deadline(): number {
    const { timeoutMs, maxTimeoutMs } = this.job;
    return this.limit.at - Math.max(0, maxTimeoutMs - this.heardMs - timeoutMs);
  }

  /** Which limit has expired: the allowed silence, or the total time. */
  get limitMs(): number {
    const { timeoutMs, maxTimeoutMs } = this.job;
    return this.ranMs >= maxTimeoutMs ? maxTimeoutMs : timeoutMs;
  }

  /** The time that the call has run, without pauses for questions. */
  private get ranMs(): number {
    return this.job.maxTimeoutMs - this.limit.at + steadyNow();
  }

  /** Starts the time limits. */
  start(): void {
    const now = steadyNow();
    this.startedAt = performance.now();
    this.limit = new Deadline(now + this.job.maxTimeoutMs);
    this.isTimed = true;
    if (this.fence === undefined) this.claimAt = now + claimAfterMs;
    this.arm();
  }

  /** Does not restart the timer: `wake` notices that the deadline has moved. */
  onProgress({ progress, total, message }: Progress): void {
    const { callId, replyTo } = this.job;
    if (this.isTimed) this.heardMs = this.ranMs;
    this.parts.replies.send(replyTo, { kind: 'progress', callId, progress, total, message });
  }

  get logLevel(): ToolJob['logLevel'] {
    return this.job.logLevel;
  }

  onLog(log: ToolLog): void {
    const { callId, replyTo } = this.job;
    this.parts.replies.send(replyTo, { kind: 'log', callId, log });
  }

  stop(reason: StopReason): void {
    this.controller.abort(new Stopped(reason));
  }

  /** Ends the time limits of a tool that has answered; a claim may still be due. */
  answered(): void {
    this.isTimed = false;
  }

  /** Returns the late claim, if one was started. */
  end(outcome: ToolOutcome): Promise<void> | undefined {
    clearTimeout(this.timer);
    this.over?.abort(new Stopped('cancelled'));
    const ms = this.startedAt === 0 ? 0 : performance.now() - this.startedAt - this.limit.pausedMs;
    outcome.durationMs = Math.max(0, Math.round(ms * 1_000) / 1_000);
    outcome.queueWaitMs = this.queueWaitMs;
    this.outcome = outcome;
    return this.claiming;
  }

  /** The end of the call as the store keeps it. */
  written(): CallEnd {
    const { callId, requestId, traceparent, keyId, ip, model } = this.job;
    const { fence, isolation } = this;
    const { workerId: worker } = this.parts;
    const outcome = this.outcome!;
    const outcomeText = (this.outcomeText = JSON.stringify(outcome));
    return { callId, fence, worker, isolation, outcome, outcomeText, requestId, traceparent, keyId, ip, model };
  }

  /** Whether the tool has asked people or a model. */
  get hasAsked(): boolean {
    return this.questions > 0;
  }

  /** Undefined if the caller cannot be asked. */
  get onQuestion(): ToolCallOptions['onQuestion'] {
    if (this.job.questions === undefined) return undefined;
    const { question: kind } = waitKinds;
    return (question, given) => this.ask(kind, given, (signal) => this.parts.questions.ask(this, question, signal));
  }

  get onSampling(): ToolCallOptions['onSampling'] {
    const { sampling: kind } = waitKinds;
    return (request, given) => this.ask(kind, given, (signal) => this.parts.questions.sample(this, request, signal));
  }

  /** Asks questions one at a time. @throws AppError tool_failed for too many; the signal's reason */
  private async ask<T>(kind: WaitKind<T>, given: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.questions += 1;
    if (this.questions > maxQuestionsOfCall) {
      throw new AppError('tool_failed', `The tool asked more than ${maxQuestionsOfCall} questions`);
    }
    this.over ??= new AbortController();
    const signal = AbortSignal.any([given, this.signal, this.over.signal]);
    const asked = (this.asking ?? Promise.resolve()).then(() => this.askNow(kind, ask, signal));
    this.asking = asked.catch(() => undefined);
    return asked;
  }

  private async askNow<T>(
    kind: WaitKind<T>,
    ask: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    signal.throwIfAborted();
    const goOn = stopClocks(kind, { tool: this.limit });
    // People may take long, or never come back: meanwhile other calls have the place.
    const comeBack = kind.answeredBy === 'people' ? this.stepAside?.() : undefined;
    const wasTimed = this.isTimed;
    this.isTimed = false;
    try {
      if (this.fence === undefined) await this.claimLate();
      return await ask(signal);
    } finally {
      goOn();
      if (this.outcome === undefined) {
        this.isTimed = wasTimed;
        this.arm();
      }
      await comeBack?.(signal);
    }
  }

  private arm(): void {
    clearTimeout(this.timer);
    const at = Math.min(this.isTimed ? this.deadline : Infinity, this.claimAt);
    if (at !== Infinity) this.timer = setTimeout(wake, Math.max(0, at - steadyNow()), this);
  }

  /** Claims or stops the call if that is due. */
  wake(): void {
    const now = steadyNow();
    if (now >= this.claimAt) void this.claimLate();
    if (this.isTimed && now >= this.deadline) {
      this.isTimed = false;
      this.stop('tool_timeout');
    }
    this.arm();
  }
}

const wake = (call: WorkerCall): void => call.wake();
