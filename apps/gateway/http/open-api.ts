// /docs (Swagger UI from the installed package, no network) and /openapi.json for the routes that the application has.
import type { Type } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { operatorRequest, type OperatorAccess } from '#libs/health/operator-access.js';
import { openApiDocument, routesOf } from './open-api-document.js';

/** Before `app.init()`. */
export async function setupOpenApi(app: NestFastifyApplication, access: OperatorAccess): Promise<void> {
  const { SwaggerModule } = await import('@nestjs/swagger');
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void) => {
      try {
        if (/^\/(?:docs(?:[/?]|$)|openapi\.json)/.test(request.url)) access.admit(operatorRequest(request.raw));
        done();
      } catch (error) {
        done(error as Error);
      }
    });
  // Made when it is first asked for: starting does not wait for it.
  const document = () => openApiDocument(routesOf(controllersOf(app))) as unknown as OpenAPIObject;
  SwaggerModule.setup('docs', app, document, { jsonDocumentUrl: 'openapi.json', raw: ['json'] });
}

export function controllersOf(app: NestFastifyApplication): Type[] {
  const modules = [...app.get(ModulesContainer).values()];
  return modules
    .flatMap((module) => [...module.controllers.values()])
    .map(({ metatype }) => metatype)
    .filter((metatype): metatype is Type => typeof metatype === 'function');
}
