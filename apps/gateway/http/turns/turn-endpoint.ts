// Answers a request of any dialect: reads the request, admits and runs the turn, and writes the answer as a stream or one body.
// Errors, limits and cancelling are the same for all chat APIs.
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '#libs/config/schema.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import type { AppError } from '#libs/schemas/errors.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { Turns } from '../../turn/turns.js';
import type { StartedTurn } from '../../turn/runs/started-turn.js';
import { mentionsOffers } from '../../turn/offer-parts.js';
import { needsCatalog } from '../../turn/offer-tools.js';
import type { TurnRequest } from '../../turn/turn-request.js';
import type { SseRenderer } from '../../chat-apis/sse-renderer.js';
import { MentionedOffers } from '../../mcp/offers/mentioned-offers.js';
import { FirstCatalog } from '../../tools/first-catalog.js';
import { readIdempotencyKey } from './idempotency-key.js';
import { CONFIG, ERROR_OBSERVER } from '../injection-tokens.js';
import { requestContext } from '../request-context.js';
import { streamTurn } from './stream-turn.js';
import { TurnAdmission } from '../../govern/turn-admission.js';

const json = 'application/json; charset=utf-8';

/** Collects the events of a turn into a whole answer. */
export interface AnswerFold {
  add(event: TurnEvent): void;
  /** The JSON body, after the last event. */
  readonly answer: object;
}

export interface DialectAdapter {
  /** Replaces references of the body by the data to which they refer; undefined if the body has no references. */
  resolver?(body: unknown, limits: Config['limits']): ((context: RequestContext) => Promise<unknown>) | undefined;
  read(body: unknown, limits: Config['limits']): TurnRequest;
  /** Loads data that the request needs from the store. Called after the turn is admitted. */
  complete?(turn: TurnRequest, context: RequestContext): Promise<TurnRequest>;
  renderer(started: StartedTurn, turn: TurnRequest): SseRenderer;
  fold(started: StartedTurn, turn: TurnRequest): AnswerFold;
}

@Injectable()
export class TurnEndpoint {
  @Inject(FirstCatalog) private readonly firstCatalog!: FirstCatalog;
  @Inject(MentionedOffers) private readonly mentioned!: MentionedOffers;

  constructor(
    private readonly turns: Turns,
    private readonly admission: TurnAdmission,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(ERROR_OBSERVER) private readonly observeError: (error: AppError) => void,
  ) {}

  async answer(dialect: DialectAdapter, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const context = requestContext(request);
    const { limits } = this.config;
    const resolve = dialect.resolver?.(request.body, limits);
    const sent = resolve === undefined ? dialect.read(request.body, limits) : undefined;
    const idempotencyKey = readIdempotencyKey(request);
    const entered = this.admission.enter(context);
    const leave = entered instanceof Promise ? await entered : entered;
    try {
      const read = sent ?? dialect.read(await resolve!(context), limits);
      const whole = dialect.complete === undefined ? read : await dialect.complete(read, context);
      const mentions = mentionsOffers(whole.messages);
      if (mentions || needsCatalog(whole)) await this.firstCatalog.wait(context.signal);
      const turn = mentions ? await this.mentioned.read(whole, context, idempotencyKey) : whole;
      const start = this.turns.start({ request: turn, context, idempotencyKey });
      const started = start instanceof Promise ? await start : start;
      reply.header('x-run-id', started.runId);
      if (turn.stream) {
        return await this.stream(started, () => dialect.renderer(started, turn), reply, context.requestId);
      }
      // Folded at the end, when `createdAt` is known. Without a stream a turn has few events.
      const events: TurnEvent[] = [];
      await started.run((batch) => {
        for (const { event } of batch) events.push(event);
        return undefined;
      });
      const fold = dialect.fold(started, turn);
      for (const event of events) fold.add(event);
      if (!reply.raw.destroyed) reply.header('content-type', json).send(JSON.stringify(fold.answer));
    } finally {
      leave();
    }
  }

  /** Counts the input tokens of a request. */
  async count(
    dialect: Pick<DialectAdapter, 'resolver' | 'read' | 'complete'>,
    request: FastifyRequest,
  ): Promise<number> {
    const context = requestContext(request);
    const { limits } = this.config;
    const resolve = dialect.resolver?.(request.body, limits);
    const sent = resolve === undefined ? dialect.read(request.body, limits) : undefined;
    const leave = await this.admission.enter(context);
    try {
      const read = sent ?? dialect.read(await resolve!(context), limits);
      const whole = (await dialect.complete?.(read, context)) ?? read;
      const mentions = mentionsOffers(whole.messages);
      if (mentions || needsCatalog(whole)) await this.firstCatalog.wait(context.signal);
      const turn = mentions ? await this.mentioned.read(whole, context) : whole;
      return await this.turns.countTokens(turn, context);
    } finally {
      leave();
    }
  }

  private stream(
    started: StartedTurn,
    rendererOf: () => SseRenderer,
    reply: FastifyReply,
    requestId: string,
  ): Promise<void> {
    const { server } = this.config;
    return streamTurn(reply, started.run, rendererOf, {
      requestId,
      headersAfterMs: server.headers_after_ms,
      keepAliveMs: server.keep_alive_ms,
      onError: this.observeError,
    });
  }
}
