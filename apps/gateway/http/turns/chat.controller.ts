// The two routes of the chat API, for the dialects `openai` and `events`.
import { Controller } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { mintCompletionId } from '#libs/schemas/identifiers.js';
import type { StartedTurn } from '../../chat/chat-service.js';
import { CompletionFold, type Rendering } from '../../openai-api/render-json.js';
import { readChatRequest } from '../../openai-api/read-request.js';
import { EventsSseRenderer } from '../../openai-api/render-events.js';
import { OpenAiSseRenderer } from '../../openai-api/render-sse.js';
import { DirectPost } from './direct-routes.js';
import { type Dialect, TurnEndpoint } from './turn-endpoint.js';

const renderingOf = ({ runId, createdAt }: StartedTurn): Rendering => ({
  id: mintCompletionId(runId),
  created: Math.floor(createdAt.getTime() / 1000),
});

const openai: Dialect = {
  read: (body, limits) => readChatRequest(body, 'openai', limits),
  renderer: (started, turn) => new OpenAiSseRenderer(renderingOf(started), turn.includeUsage),
  fold: (started) => new CompletionFold(renderingOf(started)),
};
const events: Dialect = {
  read: (body, limits) => readChatRequest(body, 'events', limits),
  renderer: (started) => new EventsSseRenderer(renderingOf(started)),
  fold: (started) => new CompletionFold(renderingOf(started)),
};

@Controller()
export class ChatController {
  constructor(private readonly turns: TurnEndpoint) {}

  @DirectPost('/v1/chat/completions')
  openai(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    return this.turns.answer(openai, request, reply);
  }

  @DirectPost('/api/chat/completions')
  events(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    return this.turns.answer(events, request, reply);
  }
}
