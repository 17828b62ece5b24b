// The worker's HTTP door: health and metrics, nothing else. What runs tools is worker.ts.
import { Module, type DynamicModule } from '@nestjs/common';
import { OperationsModule } from '#libs/health/operations.module.js';

export type WorkerDoor = Parameters<typeof OperationsModule.of>[0];

@Module({})
export class WorkerModule {
  static of(parts: WorkerDoor): DynamicModule {
    return { module: WorkerModule, imports: [OperationsModule.of(parts)] };
  }
}
