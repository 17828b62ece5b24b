// /docs (Swagger UI from the installed package, no network) and /openapi.json for the routes that the application has.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { Type } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { openApiDocument, routesOf } from './open-api-document.js';

/** In place of the package's own, which shows another's document and asks a validator on the internet. */
const initializer = `window.onload = () => {
  window.ui = SwaggerUIBundle({
    url: '../openapi.json',
    dom_id: '#swagger-ui',
    deepLinking: true,
    validatorUrl: null,
    presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
    layout: 'StandaloneLayout',
  });
};
`;

/** Before `app.init()`. */
export function setupOpenApi(app: NestFastifyApplication): void {
  const fastify = app.getHttpAdapter().getInstance();
  // Made when it is first asked for: starting does not wait for it.
  let document: string | undefined;
  fastify.get('/openapi.json', (_request: FastifyRequest, reply: FastifyReply) => {
    document ??= JSON.stringify(openApiDocument(routesOf(controllersOf(app))));
    return reply.type('application/json').send(document);
  });
  fastify.get('/docs', (_request: FastifyRequest, reply: FastifyReply) => reply.redirect('docs/'));
  fastify.get('/docs/swagger-initializer.js', (_request: FastifyRequest, reply: FastifyReply) =>
    reply.type('text/javascript').send(initializer),
  );
  const page = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/index.html')));
  // Not waited for: Fastify would be loaded with that, and these routes without the error handler that Nest sets later.
  void fastify.register(fastifyStatic, { root: page, prefix: '/docs/' });
}

export function controllersOf(app: NestFastifyApplication): Type[] {
  const modules = [...app.get(ModulesContainer).values()];
  return modules
    .flatMap((module) => [...module.controllers.values()])
    .map(({ metatype }) => metatype)
    .filter((metatype): metatype is Type => typeof metatype === 'function');
}
