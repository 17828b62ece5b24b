// Lists the tool servers with their state, their isolation, and why one is not ready.
import { Controller, Get, UseGuards } from '@nestjs/common';
import { OperatorGuard } from '#libs/health/operator.guard.js';
import { ToolServers, type ToolServerStatus } from '../../tools/tool-servers.js';

@Controller('api/servers')
@UseGuards(OperatorGuard)
export class ServersController {
  constructor(private readonly servers: ToolServers) {}

  /** For operators only: reasons may quote the configuration. */
  @Get()
  async list(): Promise<{ servers: ToolServerStatus[] }> {
    return { servers: await this.servers.list() };
  }
}
