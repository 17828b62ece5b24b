// GET /metrics in the text format of Prometheus, the same in every process.
import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Scrape } from './scrape.js';

@Controller('metrics')
export class MetricsController {
  constructor(@Inject(Scrape) private readonly scrape: Scrape) {}

  @Get()
  async metrics(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const text = await this.scrape.text({
      address: request.socket.remoteAddress ?? '',
      forwarded: request.headers['x-forwarded-for'] !== undefined || request.headers['forwarded'] !== undefined,
      authorization: request.headers.authorization,
    });
    void reply.header('content-type', this.scrape.contentType).send(text);
  }
}
