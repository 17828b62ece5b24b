// GET /metrics in the text format of Prometheus, the same in every process.
import { Controller, Get, Inject, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { OperatorGuard } from '#libs/health/operator.guard.js';
import { Scrape } from './scrape.js';

@Controller('metrics')
@UseGuards(OperatorGuard)
export class MetricsController {
  constructor(@Inject(Scrape) private readonly scrape: Scrape) {}

  @Get()
  async metrics(@Res() reply: FastifyReply): Promise<void> {
    void reply.header('content-type', this.scrape.contentType).send(await this.scrape.text());
  }
}
