import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { expect, test } from 'vitest';
import { readConfig } from '#libs/config/read-config.js';
import { OperationsModule } from '#libs/health/operations.module.js';
import { Health } from '#libs/health/health.js';
import { OperatorAccess } from '#libs/health/operator-access.js';
import { silentLogger } from '#libs/logging/logger.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { Scrape } from '#libs/metrics/scrape.js';
import { gatewayControllers } from '../../scripts/gateway-controllers.js';
import { verifies } from '../verifies.js';
import { registerOnRequest } from '../../apps/gateway/http/on-request.js';
import { openApiDocument, routesOf } from '../../apps/gateway/http/openapi/open-api-document.js';
import { describedOperations } from '../../apps/gateway/http/openapi/open-api-operations.js';
import { setupOpenApi } from '../../apps/gateway/http/openapi/open-api.js';

type Shapes = Record<string, { properties?: object }>;

verifies('operations.open-api-routes', 'every route of every controller is described', async () => {
  const routes = routesOf(await gatewayControllers());
  expect(routes).toContain('POST /v1/chat/completions');
  expect(routes.length).toBeGreaterThan(8);
  expect(routes.filter((route) => !(route in describedOperations))).toEqual([]);
  const { paths } = openApiDocument(routes);
  const shown = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(new Set(shown)).toEqual(new Set(routes));
});

test('operations have distinct ids, and every path parameter is declared', async () => {
  const { paths } = openApiDocument(routesOf(await gatewayControllers()));
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods as Record<string, { operationId: string; parameters?: { in: string; name: string }[] }>).map(
      (operation) => ({ path, ...operation }),
    ),
  );
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  for (const { path, parameters = [] } of operations) {
    const declared = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`);
    expect(declared).toEqual([...path.matchAll(/\{\w+\}/g)].map(([name]) => name));
  }
});

test('the request of a key lists the members of its objects', async () => {
  const { paths } = openApiDocument(routesOf(await gatewayControllers()));
  const { requestBody } = (paths['/api/keys'] as { post: { requestBody: object } }).post;
  const { properties } = (requestBody as { content: Record<string, { schema: { properties: Shapes } }> }).content[
    'application/json'
  ]!.schema;
  const membersOf = (name: string) => Object.keys(properties[name]!.properties!);
  expect(membersOf('tools')).toEqual(['allow', 'deny']);
  expect(membersOf('limits')).toEqual(['requests_per_minute', 'tokens_per_minute', 'turns']);
  expect(membersOf('budgets')).toEqual(['day_usd', 'month_usd']);
});

verifies('operations.open-api-served', 'page, script and document come from this machine', async () => {
  const scrape = new Scrape(createMetrics({ processMetrics: false }), {});
  const access = new OperatorAccess(undefined);
  @Module({ imports: [OperationsModule.of({ health: new Health('gateway', []), scrape, access })] })
  class TestModule {}
  const adapter = new FastifyAdapter();
  const config = readConfig({ environment: {} });
  registerOnRequest(adapter.getInstance(), {
    config,
    access,
    logger: silentLogger,
  });
  const app = await NestFactory.create<NestFastifyApplication>(TestModule, adapter, { logger: false });
  try {
    setupOpenApi(app);
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
    expect((await app.inject('/docs')).headers['location']).toBe('docs/');
    const page = await app.inject('/docs/');
    expect(page.statusCode).toBe(200);
    expect(page.body).toContain('swagger-ui');
    expect([...page.body.matchAll(/(?:src|href)="(https?:)?\/\//g)]).toEqual([]);
    expect((await app.inject('/docs/swagger-ui-bundle.js')).statusCode).toBe(200);
    const script = (await app.inject('/docs/swagger-initializer.js')).body;
    expect(script).toContain("url: '../openapi.json'");
    expect(script).not.toContain('://');
    const document = (await app.inject('/openapi.json')).json<{ openapi: string; paths: object }>();
    expect(document.openapi).toBe('3.1.0');
    expect(Object.keys(document.paths)).toEqual(['/health/live', '/health/ready', '/metrics']);
    const far = await app.inject({ url: '/openapi.json', remoteAddress: '10.0.0.9' });
    expect(far.statusCode).not.toBe(200);
    expect((await app.inject({ url: '/docs/', remoteAddress: '10.0.0.9' })).statusCode).not.toBe(200);
  } finally {
    await app.close();
  }
});
