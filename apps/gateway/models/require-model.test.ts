import { afterEach, expect } from 'vitest';
import { configSchema } from '#libs/config/schema.js';
import { silentLogger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { verifies } from '../../../test/verifies.js';
import type { ModelRouter } from './model-provider.js';
import { OfflineProvider } from './offline/offline-provider.js';
import { requireModel } from './require-model.js';
import { createModelRouter } from './routing/model-router.js';

const providers = { one: { kind: 'openai', base_url: 'http://127.0.0.1:9/v1', models: ['x', 'y'] } };
const routers: ModelRouter[] = [];
afterEach(() => Promise.all(routers.splice(0).map((router) => router.close())));

/** Whether a key with these models may ask for this one. */
function allows(globs: string[], requested: string | undefined, aliases: Record<string, string> = {}): boolean {
  const config = configSchema.parse({ models: { providers, aliases } }).models;
  const router = createModelRouter(config, { logger: silentLogger, offline: new OfflineProvider() });
  routers.push(router);
  try {
    requireModel(requested, { roles: [], scopes: ['chat'], models: globs, tools: {}, limits: {} }, router);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
    expect((error as AppError).code).toBe('model_forbidden');
    return false;
  }
}

verifies('access.globs', 'the default model counts as provider/model, with or without its name', () => {
  for (const requested of [undefined, 'default']) {
    expect(allows(['one/x'], requested)).toBe(true);
    expect(allows(['one/y', 'x', 'default'], requested)).toBe(false);
  }
  expect(allows(['one/x'], 'x')).toBe(false);
  expect(allows(['default'], 'default', { default: 'y' })).toBe(true);
  expect(allows(['one/*'], 'default', { default: 'y' })).toBe(false);
});
