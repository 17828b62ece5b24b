// The worker's HTTP door: health and metrics, nothing else. What runs tools is worker.ts.
import { Module, type DynamicModule } from '@nestjs/common';
import type { Health } from '#libs/health/health.js';
import { OperationsModule } from '#libs/health/operations.module.js';
import type { Scrape } from '#libs/metrics/scrape.js';

@Module({})
export class WorkerModule {
  static of(parts: { health: Health; scrape: Scrape }): DynamicModule {
    return { module: WorkerModule, imports: [OperationsModule.of(parts)] };
  }
}
