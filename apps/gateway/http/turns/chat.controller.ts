// The two routes of the chat API, for the dialects `openai` and `events`.
import { Controller } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { StartedTurn } from '../../turn/runs/started-turn.js';
import type { TurnRequest } from '../../turn/turn-request.js';
import { CompletionFold, type Rendering, renderingOf } from '../../openai-api/render-json.js';
import { readChatRequest } from '../../openai-api/read-request.js';
import { EventsSseRenderer } from '../../openai-api/render-events.js';
import { OpenAiSseRenderer } from '../../openai-api/render-sse.js';
import { DirectPost } from './direct-routes.js';
import { type DialectAdapter, TurnEndpoint } from './turn-endpoint.js';

const rendering = ({ runId: id, createdAt }: StartedTurn, turn: TurnRequest): Rendering =>
  renderingOf({ id, createdAt }, turn);

const openai: DialectAdapter = {
  read: (body, limits) => readChatRequest(body, 'openai', limits),
  renderer: (started, turn) => new OpenAiSseRenderer(rendering(started, turn), turn.includeUsage),
  fold: (started, turn) => new CompletionFold(rendering(started, turn)),
};
const events: DialectAdapter = {
  read: (body, limits) => readChatRequest(body, 'events', limits),
  renderer: (started, turn) => new EventsSseRenderer(rendering(started, turn)),
  fold: (started, turn) => new CompletionFold(rendering(started, turn)),
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
