// Some of the gateway's controllers behind its real guards and parser, on their own port, in this process.
import { OperatorAccess } from '#libs/health/operator-access.js';
import { Module, type Provider, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { silentLogger } from '#libs/logging/logger.js';
import { Toolsets } from '#libs/policy/toolset.js';
import { AppErrorFilter } from '../../apps/gateway/http/app-error.filter.js';
import { registerDirectRoutes } from '../../apps/gateway/http/turns/direct-routes.js';
import { controllersOf } from '../../apps/gateway/http/openapi/open-api.js';
import { CONFIG, ERROR_OBSERVER } from '../../apps/gateway/http/injection-tokens.js';
import { FirstCatalog } from '../../apps/gateway/tools/first-catalog.js';
import { TurnAdmission } from '../../apps/gateway/govern/turn-admission.js';
import { prepare } from '../../apps/gateway/start-gateway.js';
import { lonePlaces } from './lone-places.js';
import type { Services } from './queue-path.js';

export interface OpenHttpServer {
  url: string;
  app: NestFastifyApplication;
  close(): Promise<void>;
}

@Module({})
class Nothing {}

export async function openHttpServer(
  { config }: Pick<Services, 'config'>,
  controllers: Type[],
  providers: Provider[],
): Promise<OpenHttpServer> {
  const adapter = new FastifyAdapter({ forceCloseConnections: true });
  prepare(adapter.getInstance(), {
    config,
    access: new OperatorAccess(config.metrics.token),
    logger: silentLogger,
  });
  const module = {
    module: Nothing,
    controllers,
    providers: [
      {
        provide: TurnAdmission,
        useValue: new TurnAdmission({
          turns: 100,
          principalTurns: () => 100,
          places: lonePlaces(),
          onRefused: () => undefined,
        }),
      },
      // Never started: there is no wait for a first worker here.
      {
        provide: FirstCatalog,
        useValue: new FirstCatalog({ refresh: async () => undefined }, { untilWorker: async () => undefined }),
      },
      { provide: Toolsets, useValue: new Toolsets(config.toolsets) },
      { provide: CONFIG, useValue: config },
      { provide: ERROR_OBSERVER, useValue: () => undefined },
      ...providers,
    ],
  };
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, { logger: false, bodyParser: false });
  const filter = new AppErrorFilter(silentLogger, () => undefined);
  app.useGlobalFilters(filter);
  registerDirectRoutes(adapter.getInstance(), controllersOf(app), (controller) => app.get<object>(controller), filter);
  await app.listen(0, '127.0.0.1');
  return { url: await app.getUrl(), app, close: () => app.close() };
}
