// Lists the tool servers with their state, their isolation, and why one is not ready.
import { Controller, Get, Inject, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { OperatorAccess, operatorRequest } from '#libs/health/operator-access.js';
import { ToolServers, type ToolServer } from '../../tools/catalog/tool-servers.js';

@Controller('api/servers')
export class ServersController {
  constructor(
    private readonly servers: ToolServers,
    @Inject(OperatorAccess) private readonly access: OperatorAccess,
  ) {}

  /** For operators only: reasons may quote the configuration. */
  @Get()
  async list(@Req() request: FastifyRequest): Promise<{ servers: ToolServer[] }> {
    this.access.admit(operatorRequest(request.raw));
    return { servers: await this.servers.list() };
  }
}
