// The gateway as an MCP server over Streamable HTTP.
import { Controller, Delete, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DirectPost } from '../turns/direct-routes.js';
import { McpRoute } from './mcp-route.js';

@Controller('mcp')
export class McpController {
  constructor(private readonly mcp: McpRoute) {}

  @DirectPost('/mcp')
  post(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    return this.mcp.answer(request, reply);
  }

  @Get()
  listen(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.mcp.answer(request, reply);
  }

  @Delete()
  end(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.mcp.answer(request, reply);
  }
}
