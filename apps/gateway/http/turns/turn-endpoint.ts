// From a request of any dialect to its answer: reading, admission, the run, and the turn as a stream or as one body.
// All chat APIs share it, so that none has errors, limits or cancelling of its own.
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '#libs/config/schema.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import type { AppError } from '#libs/schemas/errors.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { ChatService, type StartedTurn } from '../../chat/chat-service.js';
import type { TurnRequest } from '../../chat/turn-request.js';
import type { SseRenderer } from '../../chat-apis/sse-renderer.js';
import { readIdempotencyKey } from './idempotency-key.js';
import { CONFIG, ERROR_OBSERVER } from '../injection-tokens.js';
import { requestContext } from '../request-context.js';
import { streamTurn } from './stream-turn.js';
import { TurnAdmission } from './turn-admission.js';

/** A whole answer in the making. */
export interface AnswerFold {
  add(event: TurnEvent): void;
  /** After the last event: the JSON body. */
  readonly answer: object;
}

export interface Dialect {
  read(body: unknown, limits: Config['limits']): TurnRequest;
  /** What a request refers to and does not carry: looked up once the turn is admitted. */
  complete?(turn: TurnRequest, context: RequestContext): Promise<TurnRequest>;
  renderer(started: StartedTurn, turn: TurnRequest): SseRenderer;
  fold(started: StartedTurn, turn: TurnRequest): AnswerFold;
}

@Injectable()
export class TurnEndpoint {
  constructor(
    private readonly chat: ChatService,
    private readonly admission: TurnAdmission,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(ERROR_OBSERVER) private readonly observeError: (error: AppError) => void,
  ) {}

  async answer(dialect: Dialect, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const context = requestContext(request);
    const read = dialect.read(request.body, this.config.limits);
    const idempotencyKey = readIdempotencyKey(request);
    const leave = await this.admission.enter(context.principal, context.access?.limits.turns);
    try {
      const turn = (await dialect.complete?.(read, context)) ?? read;
      const key = idempotencyKey === undefined ? {} : { idempotencyKey };
      const started = await this.chat.start({ request: turn, context, ...key });
      reply.header('x-run-id', started.runId);
      if (turn.stream) {
        return await this.stream(started, () => dialect.renderer(started, turn), reply, context.requestId);
      }
      // Folded at the end: only then is it known when the run began. Upstreams are asked for whole answers, of few events.
      const events: TurnEvent[] = [];
      await started.tell((batch) => {
        for (const { event } of batch) events.push(event);
        return undefined;
      });
      const fold = dialect.fold(started, turn);
      for (const event of events) fold.add(event);
      if (!reply.raw.destroyed) await reply.type('application/json').send(fold.answer);
    } finally {
      leave();
    }
  }

  /** The tokens that the request would have; read, completed and admitted as for a turn. */
  async count(dialect: Pick<Dialect, 'read' | 'complete'>, request: FastifyRequest): Promise<number> {
    const context = requestContext(request);
    const read = dialect.read(request.body, this.config.limits);
    const leave = await this.admission.enter(context.principal, context.access?.limits.turns);
    try {
      const turn = (await dialect.complete?.(read, context)) ?? read;
      return await this.chat.countTokens(turn, context);
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
    return streamTurn(reply, started.tell, rendererOf, {
      requestId,
      headersAfterMs: server.headers_after_ms,
      keepAliveMs: server.keep_alive_ms,
      stuckReaderMs: server.stuck_reader_ms,
      onError: this.observeError,
    });
  }
}
