// Answers requests of tool servers to models while a call runs (MCP sampling): for the caller of the call, with models that the
// caller's key allows. A gateway takes a request in the store before it calls a model, and renews that while the model works, so
// that only one gateway answers and the worker knows that one does.
import type { Wait } from '#libs/waits/wait.js';
import {
  maxSampledLength,
  samplingLeaseMs,
  samplingMs,
  samplingRequestSchema,
  type Sampled,
} from '#libs/waits/sampling-request.js';
import type { WaitAnnouncements } from '#libs/waits/wait-announcements.js';
import { isForPeople } from '#libs/waits/wait-kinds.js';
import type { SamplingOutcome, WaitStore } from '#libs/waits/wait-store.js';
import { abortAfter } from '#libs/concurrency/abort-after.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import type { Budgets } from '#libs/usage/budgets.js';
import type { FinishReason } from '#libs/schemas/model-event.js';
import { chooseModel } from '../models/choose-model.js';
import type { ModelRouter, RoutedModelEvent } from '../models/model-provider.js';
import type { SamplingCaller, SamplingDesk } from '../turn/dispatch/dispatch-services.js';
import { fromSamplingRequest } from './from-sampling-request.js';

export interface SamplingPorts {
  gatewayId: string;
  store: Pick<WaitStore, 'take' | 'sampled' | 'open'>;
  announcements: Pick<WaitAnnouncements, 'announce'>;
  models: Pick<ModelRouter, 'resolve' | 'list' | 'call'>;
  budgets: Pick<Budgets, 'spentBy'>;
  /** Counts each answered request, with `ok` or the error code. */
  onAnswered: (outcome: string) => void;
  logger: Logger;
}

const renewMs = samplingLeaseMs / 3;

export class Sampling implements SamplingDesk {
  /** Ids of requests that are being answered here. */
  private readonly answering = new Set<string>();

  constructor(private readonly ports: SamplingPorts) {}

  async open(callIds: readonly string[], caller: SamplingCaller): Promise<Wait[]> {
    const asked = await this.ports.store.open(callIds);
    for (const each of asked) if (!isForPeople(each)) void this.answer(each, caller, caller.signal);
    return asked.filter(isForPeople);
  }

  async answer(asked: Wait, caller: SamplingCaller, signal: AbortSignal): Promise<void> {
    if (this.answering.has(asked.id)) return;
    this.answering.add(asked.id);
    await this.answerOnce(asked, caller, signal);
    this.answering.delete(asked.id);
  }

  /** Never rejects. */
  private async answerOnce(asked: Wait, caller: SamplingCaller, signal: AbortSignal): Promise<void> {
    const { gatewayId, store, announcements, onAnswered, logger } = this.ports;
    const over = new AbortController();
    const take = async () => {
      if (!(await store.take(asked.id, gatewayId, samplingLeaseMs))) over.abort('Its call is no longer waiting for it');
    };
    let renewal: NodeJS.Timeout | undefined;
    try {
      await take();
      if (over.signal.aborted) return;
      // If the store stays away, the lease of the request expires there.
      renewal = setInterval(() => void take().catch(() => undefined), renewMs);
      const both = AbortSignal.any([signal, over.signal, caller.signal]);
      const outcome = await this.outcomeOf(asked, caller, both);
      if (both.aborted || !(await store.sampled(asked, gatewayId, outcome))) return onAnswered('cancelled');
      onAnswered(outcome.errorCode ?? 'ok');
      await announcements.announce(asked.id);
    } catch (error) {
      logger.warn({ error, requestId: caller.requestId }, 'a tool server’s request to a model could not be answered');
    } finally {
      clearInterval(renewal);
    }
  }

  private async outcomeOf(asked: Wait, caller: SamplingCaller, signal: AbortSignal): Promise<SamplingOutcome> {
    const startedAt = performance.now();
    const answer = new SampledAnswer();
    const ended = () => ({ durationMs: performance.now() - startedAt, ...(answer.model && { model: answer.model }) });
    try {
      await this.ask(asked, caller, answer, signal);
      return { answer: answer.whole(), ...ended() };
    } catch (error) {
      // Tool servers do not see the upstream's error; the log has it.
      const { code } = toAppError(error);
      return { answer: { refused: `No model answered (${code})` }, errorCode: code, ...ended() };
    }
  }

  private async ask(asked: Wait, caller: SamplingCaller, answer: SampledAnswer, signal: AbortSignal): Promise<void> {
    const { models, budgets } = this.ports;
    const { requestId, runId, traceparent, principal, keyId, access } = caller;
    if ((await budgets.spentBy(caller)) !== undefined) throw new AppError('budget_exceeded', 'The budget is used up');
    const request = samplingRequestSchema.parse(asked.schema);
    const bounded = AbortSignal.any([signal, abortAfter(samplingMs)]);
    const known = (await models.list(bounded)).map(({ id }) => id);
    const preferred = models.resolve(undefined).candidates.map(({ provider, model }) => `${provider.name}/${model}`)[0];
    const route = models.resolve(chooseModel(request, { known, preferred: preferred ?? '' }, access));
    const call = {
      requestId,
      ...(runId === undefined ? {} : { runId }),
      ...(traceparent === undefined ? {} : { traceparent }),
      deadline: steadyNow() + samplingMs,
      signal: bounded,
      // A sampling does not count as a request of the caller.
      paidBy: { principal, keyId, access, round: 0 },
    };
    await models.call(route, fromSamplingRequest(request), call, (events) => answer.take(events));
    if (bounded.aborted && !signal.aborted) throw new AppError('model_timeout', 'The model took too long');
  }
}

/** Collects the answer of a model from its events. */
class SampledAnswer {
  /** `provider/model` */
  model: string | undefined;
  private text = '';
  private finishReason: FinishReason | undefined;
  private error: AppError | undefined;

  take(events: readonly RoutedModelEvent[]): 'enough' | undefined {
    for (const event of events) {
      if (event.type === 'routed') this.model = `${event.provider}/${event.upstreamModel}`;
      else if (event.type === 'text_delta') this.text += event.text;
      else if (event.type === 'message_end') this.finishReason = event.finishReason;
      else if (event.type === 'error') this.error = event.error;
    }
    if (this.text.length <= maxSampledLength) return undefined;
    this.error = new AppError('model_bad_response', `The answer has more than ${maxSampledLength} characters`);
    return 'enough';
  }

  /** @throws AppError if the model failed */
  whole(): Sampled {
    if (this.error !== undefined) throw this.error;
    const { model = '', text, finishReason } = this;
    return { model, text, stopReason: finishReason === 'length' ? 'maxTokens' : 'endTurn' };
  }
}
