// GET /metrics in the text format of Prometheus, the same in every process.
import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OperatorAccess, operatorRequest } from '#libs/health/operator-access.js';
import { Scrape } from './scrape.js';

@Controller('metrics')
export class MetricsController {
  constructor(
    @Inject(Scrape) private readonly scrape: Scrape,
    @Inject(OperatorAccess) private readonly access: OperatorAccess,
  ) {}

  @Get()
  async metrics(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.access.admit(operatorRequest(request.raw));
    void reply.header('content-type', this.scrape.contentType).send(await this.scrape.text());
  }
}
