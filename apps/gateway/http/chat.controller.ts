// The two paths of the chat API over one engine (chat-api).
import { Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintCompletionId } from '#libs/schemas/identifiers.js';
import { ChatService } from '../chat/chat-service.js';
import type { TurnRequest } from '../chat/turn-request.js';
import { readChatRequest } from '../openai-api/read-request.js';
import { EventsSseRenderer } from '../openai-api/render-events.js';
import { renderJson } from '../openai-api/render-json.js';
import { OpenAiSseRenderer } from '../openai-api/render-sse.js';
import { CONFIG, ERROR_OBSERVER } from './injection-tokens.js';
import { readIdempotencyKey } from './idempotency-key.js';
import { requestContext } from './request-context.js';
import { foldTurn, streamTurn } from './stream-turn.js';
import { TurnAdmission } from './turn-admission.js';

@Controller()
export class ChatController {
  constructor(
    private readonly chat: ChatService,
    private readonly admission: TurnAdmission,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(ERROR_OBSERVER) private readonly observeError: (error: AppError) => void,
  ) {}

  @Post('v1/chat/completions')
  @HttpCode(200)
  openai(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer('openai', request, reply);
  }

  @Post('api/chat/completions')
  @HttpCode(200)
  events(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer('events', request, reply);
  }

  private async answer(dialect: TurnRequest['dialect'], request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const context = requestContext(request);
    const turn = readChatRequest(request.body, dialect, this.config.limits);
    const idempotencyKey = readIdempotencyKey(request);
    const leave = this.admission.enter();
    try {
      const started = await this.chat.start({
        request: turn,
        context,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      });
      reply.header('x-run-id', started.runId);
      const rendering = {
        id: mintCompletionId(started.runId),
        created: Math.floor(started.createdAt.getTime() / 1000),
      };
      if (!turn.stream) {
        const answer = await foldTurn(started.events);
        if (!reply.raw.destroyed) await reply.type('application/json').send(renderJson(answer, rendering));
        return;
      }
      const renderer =
        dialect === 'events' ? new EventsSseRenderer(rendering) : new OpenAiSseRenderer(rendering, turn.includeUsage);
      const { server } = this.config;
      await streamTurn(reply, started.events, renderer, {
        requestId: context.requestId,
        headersAfterMs: server.headers_after_ms,
        keepAliveMs: server.keep_alive_ms,
        stuckReaderMs: server.stuck_reader_ms,
        detached: started.detached,
        onError: this.observeError,
      });
    } finally {
      leave();
    }
  }
}
