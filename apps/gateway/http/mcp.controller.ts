// The gateway as an MCP server over Streamable HTTP.
import { Controller, Delete, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DirectPost } from './direct-routes.js';
import { McpDoor } from './mcp-door.js';

@Controller('mcp')
export class McpController {
  constructor(private readonly door: McpDoor) {}

  @DirectPost('/mcp')
  post(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    return this.door.answer(request, reply);
  }

  @Get()
  listen(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.door.answer(request, reply);
  }

  @Delete()
  end(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.door.answer(request, reply);
  }
}
