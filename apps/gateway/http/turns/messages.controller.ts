// The routes of Anthropic's messages API.
import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { mintMessageId } from '#libs/schemas/identifiers.js';
import { readCountRequest, readMessageRequest } from '../../anthropic-api/read-message-request.js';
import { MessageFold, MessageSseRenderer } from '../../anthropic-api/render-message.js';
import { DirectPost } from './direct-routes.js';
import { requestContext } from '../request-context.js';
import { type DialectAdapter, TurnEndpoint } from './turn-endpoint.js';

const anthropic: DialectAdapter = {
  read: readMessageRequest,
  renderer: ({ runId }) => new MessageSseRenderer(mintMessageId(runId)),
  fold: ({ runId }) => new MessageFold(mintMessageId(runId)),
};

@Controller()
export class MessagesController {
  constructor(private readonly turns: TurnEndpoint) {}

  @DirectPost('/v1/messages')
  async create(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    // The header that Anthropic's SDKs read.
    reply.header('request-id', requestContext(request).requestId);
    await this.turns.answer(anthropic, request, reply);
  }

  @Post('v1/messages/count_tokens')
  @HttpCode(200)
  async count(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ input_tokens: number }> {
    reply.header('request-id', requestContext(request).requestId);
    return { input_tokens: await this.turns.count({ read: readCountRequest }, request) };
  }
}
