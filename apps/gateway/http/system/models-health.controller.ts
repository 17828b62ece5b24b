// How the models do: providers, aliases and prices, for administrators.
import { Controller, Get, Inject, Req, UseGuards } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AdministratorGuard } from '../admin/administrator.guard.js';
import { SYSTEM_PORTS } from '../injection-tokens.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import type { modelsHealth as healthShape } from '../openapi/system-shapes.js';
import { requestContext } from '../request-context.js';
import { pricedModels, showModelsReport } from './show-models.js';
import type { SystemPorts } from './system-ports.js';

const gatewaySeenMs = 10_000;
const usedDays = 30;
const dayMs = 86_400_000;

@Controller('api/models')
export class ModelsHealthController {
  constructor(@Inject(SYSTEM_PORTS) private readonly ports: SystemPorts) {}

  @Get('health')
  @UseGuards(AdministratorGuard)
  async health(@Req() request: FastifyRequest): Promise<Shown<typeof healthShape>> {
    const { id, models, registry, usage } = this.ports;
    const { signal } = requestContext(request);
    await usage.meter.flush();
    const since = new Date(Date.now() - usedDays * dayMs);
    const [report, gateways, { data: used }] = await Promise.all([
      models.report(signal),
      registry.alive('gateway', gatewaySeenMs),
      usage.store.report({ by: ['model'], since, until: undefined, principal: undefined }),
    ]);
    return {
      at: new Date().toISOString(),
      gateway: id,
      gateways: gateways.length,
      ...showModelsReport(report),
      models: pricedModels(report, used, usage.prices),
    };
  }
}
