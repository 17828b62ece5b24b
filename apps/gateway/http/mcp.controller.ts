// The gateway as an MCP server over Streamable HTTP.
import { Controller, Delete, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { McpDoor } from './mcp-door.js';

@Controller('mcp')
export class McpController {
  constructor(private readonly door: McpDoor) {}

  @Post()
  @HttpCode(200)
  post(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
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
