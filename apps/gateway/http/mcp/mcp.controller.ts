// The gateway as an MCP server: over Streamable HTTP, and over HTTP+SSE, the transport of 2024.
import { Controller, Delete, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DirectPost } from '../turns/direct-routes.js';
import { McpRoute } from './mcp-route.js';

@Controller()
export class McpController {
  constructor(private readonly mcp: McpRoute) {}

  @DirectPost('/mcp')
  post(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    return this.mcp.answer(request, reply);
  }

  @Get('mcp')
  listen(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.mcp.answer(request, reply);
  }

  @Delete('mcp')
  end(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.mcp.answer(request, reply);
  }

  @Get('sse')
  openStream(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.mcp.openStream(request, reply);
  }

  @Post('sse/messages')
  @HttpCode(202)
  receive(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.mcp.receive(request, reply);
  }
}
