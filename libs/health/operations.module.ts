// Health and metrics of a process as one Nest module, which gateway and worker import with their own checks. Without
// `scrape` the metrics are elsewhere (metrics-port.ts).
import { Module, type DynamicModule } from '@nestjs/common';
import { MetricsController } from '#libs/metrics/metrics.controller.js';
import { Scrape } from '#libs/metrics/scrape.js';
import { HealthController } from './health.controller.js';
import { Health } from './health.js';
import { OperatorAccess } from './operator-access.js';

@Module({})
export class OperationsModule {
  static of(parts: { health: Health; scrape: Scrape | undefined; access: OperatorAccess }): DynamicModule {
    return {
      module: OperationsModule,
      controllers: parts.scrape === undefined ? [HealthController] : [HealthController, MetricsController],
      providers: [
        { provide: Health, useValue: parts.health },
        { provide: Scrape, useValue: parts.scrape },
        { provide: OperatorAccess, useValue: parts.access },
      ],
      exports: [OperatorAccess, Health],
    };
  }
}
