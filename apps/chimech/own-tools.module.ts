// Chimech inside the worker: `worker.modules` names this file, as `npm start` does (docs/own-tools.md).
import { Module } from '@nestjs/common';
import { loadConfig } from '#libs/config/load-config.js';
import { silentLogger } from '#libs/logging/logger.js';
import { ChimechTools } from './chimech-tools.js';
import { openChimech } from './open-chimech.js';

@Module({
  providers: [{ provide: ChimechTools, useFactory: () => openChimech(loadConfig(), { logger: silentLogger }).tools }],
})
export default class ChimechModule {}
