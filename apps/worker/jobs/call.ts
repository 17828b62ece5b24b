// One call in this worker, from its job to its reply: its claim, its time, its questions, its outcome, and whether it must
// stop. run-call.ts takes its steps.
import type { JobDelivery } from '#libs/backing/job-queue.js';
import { type Answer, maxQuestionsOfCall, type Question } from '#libs/approvals/question.js';
import {
  type SamplingAnswer,
  samplingMs,
  samplingLeaseMs,
  type SamplingRequest,
} from '#libs/approvals/sampling-request.js';
import { holdSecrets } from '#libs/audit/known-secrets.js';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Logger } from '#libs/logging/logger.js';
import type { CallEnd, Journal } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { processSpan } from '#libs/tracing/spans.js';
import { type Span, tracing } from '#libs/tracing/tracing.js';
import type { UseOptions } from '../mcp/pool/pool-instance.js';
import type { PoolUser } from '../mcp/servers/configured-server.js';
import type { CallOptions } from '../mcp/wire/call-scope.js';
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
  /** The call is claimed, and its time stands still. */
  questions: {
    ask(call: Call, question: Question, signal: AbortSignal): Promise<Answer>;
    sample(call: Call, request: SamplingRequest, signal: AbortSignal): Promise<SamplingAnswer>;
  };
  logger: Logger;
}

/** Shorter safe calls are written only with their outcome. */
const claimAfterMs = 1_000;

export class Call implements UseOptions, CallOptions {
  readonly job: ToolJob;
  readonly redelivered: boolean;
  readonly repeated: boolean;
  /** Capped at the longest possible wait: the gateway's clock may differ. */
  readonly queueWaitMs: number;
  /** From its delivery to its reply. */
  readonly span: Span | undefined;
  readonly user: PoolUser;
  /** Of its claim; undefined if not claimed (yet), like safe calls whose job carries everything they need. */
  fence: string | undefined;
  arguments: JsonObject | undefined;
  /** Isolation of its server. */
  isolation: string | undefined;
  /** How it ended, if that is known. */
  outcome: ToolOutcome | undefined;
  /** The same as JSON, once it is written. */
  outcomeText: string | undefined;
  forgetSecrets: (() => void) | undefined;
  /** By `performance.now()`. */
  private startedAt = 0;
  /** Its maximum time. */
  private limit = new Deadline(Infinity);
  /** How long it had run when its tool reported progress last. */
  private heardMs = 0;
  /** Its tool runs, and asks nobody. */
  private isTimed = false;
  /** When it has to be claimed, by `steadyNow()`. */
  private claimAt = Infinity;
  private timer: NodeJS.Timeout | undefined;
  private claiming: Promise<void> | undefined;
  private stopped: Stopped | undefined;
  private controller: AbortController | undefined;
  private questions = 0;
  private asking: Promise<unknown> | undefined;
  /** Nobody needs answers to its questions any more. */
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

  /** Struck out of everything until `forgetSecrets`. */
  holdSecrets(secrets: readonly string[]): void {
    const others = this.forgetSecrets;
    const forget = holdSecrets(secrets);
    this.forgetSecrets = () => {
      others?.();
      forget();
    };
  }

  /** False if it is not planned any more. @throws AppError store_unavailable */
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
   * A safe call that takes long is claimed after all: otherwise it looks like one that no worker took. If it has ended
   * meanwhile (cancelled, given up), its run is stopped.
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

  /** By `steadyNow()`: until when its tool may be silent, never past its maximum time. It moves while somebody is asked. */
  get deadline(): number {
    const { timeoutMs, maxTimeoutMs } = this.job;
    return this.limit.at - Math.max(0, maxTimeoutMs - this.heardMs - timeoutMs);
  }

  /** Which limit has expired: the allowed silence, or the total time. */
  get limitMs(): number {
    const { timeoutMs, maxTimeoutMs } = this.job;
    return this.ranMs >= maxTimeoutMs ? maxTimeoutMs : timeoutMs;
  }

  /** Without the time in which somebody was asked. */
  private get ranMs(): number {
    return this.job.maxTimeoutMs - this.limit.at + steadyNow();
  }

  /** Created on first use. */
  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.stopped !== undefined) this.controller.abort(this.stopped);
    }
    return this.controller.signal;
  }

  /** Starts its time. */
  start(): void {
    const now = steadyNow();
    this.startedAt = performance.now();
    this.limit = new Deadline(now + this.job.maxTimeoutMs);
    this.isTimed = true;
    if (this.fence === undefined) this.claimAt = now + claimAfterMs;
    this.arm();
  }

  /** The timer itself notices that its deadline has moved. */
  onProgress({ progress, total, message }: Progress): void {
    const { callId, replyTo } = this.job;
    if (this.isTimed) this.heardMs = this.ranMs;
    this.parts.replies.send(replyTo, { kind: 'progress', callId, progress, total, message });
  }

  stop(reason: StopReason): void {
    this.stopped ??= new Stopped(reason);
    this.controller?.abort(this.stopped);
  }

  /** The tool has answered: its time limit no longer applies, a claim may still be due. */
  answered(): void {
    this.isTimed = false;
  }

  /** The promise, if a claim has been started, resolves when its result is known. */
  end(outcome: ToolOutcome): Promise<void> | undefined {
    clearTimeout(this.timer);
    this.over?.abort(new Stopped('cancelled'));
    const ms = this.startedAt === 0 ? 0 : performance.now() - this.startedAt - this.limit.pausedMs;
    outcome.durationMs = Math.max(0, Math.round(ms * 1_000) / 1_000);
    outcome.queueWaitMs = this.queueWaitMs;
    this.outcome = outcome;
    return this.claiming;
  }

  /** What is written of it. */
  written(): CallEnd {
    const { callId, requestId, traceparent, keyId, ip, model } = this.job;
    const { fence, isolation } = this;
    const { workerId: worker } = this.parts;
    const outcome = this.outcome!;
    const outcomeText = (this.outcomeText = JSON.stringify(outcome));
    return { callId, fence, worker, isolation, outcome, outcomeText, requestId, traceparent, keyId, ip, model };
  }

  /** Undefined: its caller cannot be asked. */
  get onQuestion(): CallOptions['onQuestion'] {
    if (this.job.questions === undefined) return undefined;
    return (question, given) => this.ask(given, (signal) => this.parts.questions.ask(this, question, signal));
  }

  get onSampling(): CallOptions['onSampling'] {
    return (request, given) => this.ask(given, (signal) => this.parts.questions.sample(this, request, signal));
  }

  /** One after the other. @throws AppError tool_failed for too many; the signal's reason */
  private async ask<T>(given: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.questions += 1;
    if (this.questions > maxQuestionsOfCall) {
      throw new AppError('tool_failed', `The tool asked more than ${maxQuestionsOfCall} questions`);
    }
    this.over ??= new AbortController();
    const signal = AbortSignal.any([given, this.signal, this.over.signal]);
    const asked = (this.asking ?? Promise.resolve()).then(() => this.askNow(ask, signal));
    this.asking = asked.catch(() => undefined);
    return asked;
  }

  private async askNow<T>(ask: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const goOn = this.limit.pause();
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
    }
  }

  private arm(): void {
    clearTimeout(this.timer);
    const at = Math.min(this.isTimed ? this.deadline : Infinity, this.claimAt);
    if (at !== Infinity) this.timer = setTimeout(wake, Math.max(0, at - steadyNow()), this);
  }

  /** Something may be due. */
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

const wake = (call: Call): void => call.wake();
