// GET /health/live and /health/ready, the same in every process.
import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Health } from './health.js';

@Controller('health')
export class HealthController {
  constructor(@Inject(Health) private readonly health: Health) {}

  /** The loop turns: that this answers is the answer. */
  @Get('live')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** 503 only where a plain chat cannot be served; what is merely degraded is 200 and says why. */
  @Get('ready')
  async ready(@Res() reply: FastifyReply): Promise<void> {
    const report = await this.health.ready();
    void reply
      .header('cache-control', 'no-store')
      .code(report.status === 'unavailable' ? 503 : 200)
      .send(report);
  }
}
