// Serves /openapi.json for the application's routes, and /docs: Swagger UI from the installed package, without the network.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { Type } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Replaces the package's own script, which shows a sample document and calls a validator on the internet. */
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

/** Call before `app.init()`. */
export function setupOpenApi(app: NestFastifyApplication): void {
  const fastify = app.getHttpAdapter().getInstance();
  // Loaded and built at the first request, to start faster.
  let document: string | undefined;
  fastify.get('/openapi.json', async (_request: FastifyRequest, reply: FastifyReply) => {
    const { openApiDocument, routesOf } = await import('./open-api-document.js');
    document ??= JSON.stringify(openApiDocument(routesOf(controllersOf(app))));
    return reply.type('application/json').send(document);
  });
  fastify.get('/docs', (_request: FastifyRequest, reply: FastifyReply) => reply.redirect('docs/'));
  fastify.get('/docs/swagger-initializer.js', (_request: FastifyRequest, reply: FastifyReply) =>
    reply.type('text/javascript').send(initializer),
  );
  const page = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/index.html')));
  // Not awaited: waiting would load Fastify, and these routes would miss the error handler that Nest sets later.
  void fastify.register(fastifyStatic, { root: page, prefix: '/docs/' });
}

export function controllersOf(app: NestFastifyApplication): Type[] {
  const modules = [...app.get(ModulesContainer).values()];
  return modules
    .flatMap((module) => [...module.controllers.values()])
    .map(({ metatype }) => metatype)
    .filter((metatype): metatype is Type => typeof metatype === 'function');
}
