// GET /health/live and /health/ready, the same in every process.
import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Health } from './health.js';

@Controller('health')
export class HealthController {
  constructor(@Inject(Health) private readonly health: Health) {}

  /** Answering at all shows that the event loop is running. */
  @Get('live')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** 503 only if plain chats cannot be served; a degraded process answers 200 with the reasons. */
  @Get('ready')
  async ready(@Res() reply: FastifyReply): Promise<void> {
    const report = await this.health.ready();
    void reply
      .header('cache-control', 'no-store')
      .code(report.status === 'unavailable' ? 503 : 200)
      .send(report);
  }
}
