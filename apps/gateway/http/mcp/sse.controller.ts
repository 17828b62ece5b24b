// The gateway as an MCP server over HTTP+SSE, the transport of 2024: a stream, and a route for messages.
import { Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { McpRoute } from './mcp-route.js';

@Controller('sse')
export class SseController {
  constructor(private readonly mcp: McpRoute) {}

  @Get()
  listen(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.mcp.openStream(request, reply);
  }

  @Post('messages')
  @HttpCode(202)
  post(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.mcp.receive(request, reply);
  }
}
