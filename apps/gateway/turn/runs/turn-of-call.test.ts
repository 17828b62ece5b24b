import { afterEach, expect } from 'vitest';
import { configSchema } from '#libs/config/schema.js';
import { silentLogger } from '#libs/logging/logger.js';
import { verifies } from '../../../../test/verifies.js';
import type { ModelRouter } from '../../models/model-provider.js';
import { OfflineProvider } from '../../models/offline/offline-provider.js';
import { createModelRouter } from '../../models/routing/model-router.js';
import type { TurnRequest } from '../turn-request.js';
import { turnOfCall } from './turn-of-call.js';

let router: ModelRouter | undefined;
afterEach(() => router?.close());

verifies('chimech.acts-for-caller', 'by a model that the key allows, unless the request names one', async () => {
  const one = { kind: 'openai', base_url: 'http://127.0.0.1:9/v1', models: ['x', 'y'] };
  const config = configSchema.parse({ models: { providers: { one } } }).models;
  const models = createModelRouter(config, { logger: silentLogger, offline: new OfflineProvider() });
  router = models;
  const access = { roles: [], scopes: ['chat' as const], models: ['one/y'], tools: {}, limits: {} };
  const context = { access, signal: new AbortController().signal } as never;
  const modelOf = async (model?: string) => {
    const request = { messages: [], ...(model === undefined ? {} : { model }) } as unknown as TurnRequest;
    return (await turnOfCall({ request, context }, models)).request.model;
  };
  expect(await modelOf()).toBe('one/y');
  expect(await modelOf('default')).toBe('one/y');
  expect(await modelOf('one/x')).toBe('one/x');
});
