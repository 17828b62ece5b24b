// One call in this worker, from its job to its reply: its data, its one timer, and whether it must stop.
// Execution is in run-tool-call.ts and run-tool.ts.
import type { JobDelivery } from '#libs/backing/job-queue.js';
import { type Answer, maxQuestionsOfCall, type Question } from '#libs/approvals/question.js';
import {
  type SamplingAnswer,
  samplingMs,
  samplingLeaseMs,
  type SamplingRequest,
} from '#libs/approvals/sampling-request.js';
import { holdSecrets, secretsOfHeader } from '#libs/audit/known-secrets.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { processSpan } from '#libs/tracing/spans.js';
import { type Span, tracing } from '#libs/tracing/tracing.js';
import type { UseOptions } from '../mcp/pool/pool-instance.js';
import type { CallOptions } from '../mcp/servers/connection.js';
import type { PoolUser } from '../mcp/servers/configured-server.js';
import type { Progress } from '../mcp/wire/guarded-transport.js';

export type StopReason = 'cancelled' | 'tool_timeout';

/** The abort reason of a stopped call. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
  constructor(readonly reason: StopReason) {
    super(reason);
  }
}

/** Events of a call while it runs. */
export interface CallListener {
  onProgress(call: ToolCall, progress: Progress): void;
  /** It takes long, and is not claimed yet. Never rejects. */
  onLong(call: ToolCall): Promise<void>;
  /** It is claimed, and its time stands still. */
  onQuestion(call: ToolCall, question: Question, signal: AbortSignal): Promise<Answer>;
  /** The same. */
  onSampling(call: ToolCall, request: SamplingRequest, signal: AbortSignal): Promise<SamplingAnswer>;
}

/** Shorter safe calls are written only with their outcome. */
const claimAfterMs = 1_000;

export class ToolCall implements UseOptions, CallOptions {
  readonly job: ToolJob;
  readonly redelivered: boolean;
  readonly repeated: boolean;
  /** Capped at the longest possible wait: the gateway's clock may differ. */
  readonly queueWaitMs: number;
  /** Of its claim; undefined if not claimed (yet), like safe calls whose job carries everything they need. */
  fence: string | undefined;
  arguments: JsonObject | undefined;
  /** Isolation of its server. */
  isolation: string | undefined;
  user: PoolUser;
  /** From its delivery to its reply. */
  readonly span: Span | undefined;
  /** By `steadyNow()`: how long it waits for an instance. */
  deadline = 0;
  /** From the start of its tool to the result. */
  durationMs = 0;
  /** These three by `performance.now()`. */
  private startedAt = 0;
  /** The tool's own deadline: counted from its start, extended by progress, never past its maximum. */
  private limitAt = Infinity;
  private claimAt = Infinity;
  private timer: NodeJS.Timeout | undefined;
  private claiming: Promise<void> | undefined;
  private stopped: Stopped | undefined;
  private controller: AbortController | undefined;
  private questions = 0;
  private asking: Promise<unknown> = Promise.resolve();
  /** Nobody needs answers to its questions any more. */
  private over: AbortController | undefined;
  forgetSecrets: (() => void) | undefined;
  readonly onQuestion: CallOptions['onQuestion'];
  readonly onSampling: CallOptions['onSampling'];

  constructor(
    { job, redelivered, repeated = false }: JobDelivery,
    private readonly listener: CallListener,
  ) {
    this.job = job;
    this.redelivered = redelivered;
    this.repeated = repeated;
    this.queueWaitMs = Math.min(Math.max(0, steadyNow() - job.queuedAt), job.deadline - job.queuedAt);
    this.arguments = job.arguments;
    this.span = tracing?.start(processSpan(job.callId), job.traceparent);
    if (job.questions !== undefined) {
      this.onQuestion = (question, given) => this.ask(given, (signal) => listener.onQuestion(this, question, signal));
    }
    this.onSampling = (request, given) => this.ask(given, (signal) => listener.onSampling(this, request, signal));
    this.user = { principal: job.principal, sessionId: job.sessionId, directory: '', headers: undefined };
  }

  /** What they contain is struck out of everything until `forgetSecrets`. */
  useHeaders(headers: Record<string, string>): void {
    this.user.headers = headers;
    this.holdSecrets(Object.values(headers).flatMap(secretsOfHeader));
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

  get maxTimeoutMs(): number {
    return this.job.maxTimeoutMs;
  }

  get questionsMs(): number {
    return maxQuestionsOfCall * Math.max(this.job.questions?.expiresMs ?? 0, samplingMs + samplingLeaseMs);
  }

  /** Which limit has expired: the allowed silence, or the total time. */
  get limitMs(): number {
    const { timeoutMs, maxTimeoutMs } = this.job;
    return performance.now() - this.startedAt >= maxTimeoutMs ? maxTimeoutMs : timeoutMs;
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
    const { timeoutMs, maxTimeoutMs } = this.job;
    this.deadline = steadyNow() + timeoutMs;
    this.startedAt = performance.now();
    this.limitAt = this.startedAt + Math.min(timeoutMs, maxTimeoutMs);
    if (this.fence === undefined) this.claimAt = this.startedAt + claimAfterMs;
    this.arm();
  }

  /** The timer itself notices an extended deadline. */
  onProgress(progress: Progress): void {
    const { timeoutMs, maxTimeoutMs } = this.job;
    if (this.limitAt !== Infinity) {
      this.limitAt = Math.min(performance.now() + timeoutMs, this.startedAt + maxTimeoutMs);
    }
    this.listener.onProgress(this, progress);
  }

  stop(reason: StopReason): void {
    this.stopped ??= new Stopped(reason);
    this.controller?.abort(this.stopped);
  }

  /** The tool has answered: its time limit no longer applies, a claim may still be due. */
  answered(): void {
    this.limitAt = Infinity;
  }

  /** There is an outcome. The promise, if a claim has been started, resolves when its result is known. */
  end(): Promise<void> | undefined {
    clearTimeout(this.timer);
    this.over?.abort(new Stopped('cancelled'));
    this.durationMs = Math.round((performance.now() - this.startedAt) * 1_000) / 1_000;
    return this.claiming;
  }

  /** One after the other. @throws AppError tool_failed for too many; the signal's reason */
  private async ask<T>(given: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.questions += 1;
    if (this.questions > maxQuestionsOfCall) {
      throw new AppError('tool_failed', `The tool asked more than ${maxQuestionsOfCall} questions`);
    }
    this.over ??= new AbortController();
    const signal = AbortSignal.any([given, this.signal, this.over.signal]);
    const before = this.asking;
    const asked = before.then(() => this.askNow(ask, signal));
    this.asking = asked.catch(() => undefined);
    return asked;
  }

  private async askNow<T>(ask: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const goOn = this.standStill();
    try {
      if (this.fence === undefined) {
        this.claimAt = Infinity;
        await (this.claiming ??= this.listener.onLong(this));
      }
      return await ask(signal);
    } finally {
      goOn();
    }
  }

  /** Its time, until the returned function is called. */
  private standStill(): () => void {
    const since = performance.now();
    const left = this.limitAt - since;
    this.limitAt = Infinity;
    this.arm();
    return () => {
      if (this.over?.signal.aborted === true) return;
      const now = performance.now();
      this.startedAt += now - since;
      this.limitAt = now + left;
      this.arm();
    };
  }

  private arm(): void {
    clearTimeout(this.timer);
    const at = Math.min(this.limitAt, this.claimAt);
    if (at !== Infinity) this.timer = setTimeout(wake, Math.max(0, at - performance.now()), this);
  }

  /** Something may be due. */
  wake(): void {
    const now = performance.now();
    if (now >= this.claimAt) {
      this.claimAt = Infinity;
      this.claiming = this.listener.onLong(this);
    }
    if (now >= this.limitAt) {
      this.limitAt = Infinity;
      this.stop('tool_timeout');
    }
    this.arm();
  }
}

const wake = (call: ToolCall): void => call.wake();
