import { expect, test } from 'vitest';
import { configSchema } from '#libs/config/schema.js';
import { verifies } from '../../../../test/verifies.js';
import { misnamedModels } from './check-models.js';

const found = (models: object) =>
  misnamedModels(configSchema.parse({ models }).models, 'offline').map(
    ({ setting, message }) => `${setting}: ${message}`,
  );

const one = { kind: 'openai', base_url: 'http://127.0.0.1:9/v1' };

verifies('models.router.misnamed', 'a default that names no provider', () => {
  expect(found({ default: 'nosuch/x', providers: { one } })).toEqual([
    "models.default: 'nosuch/x' names no provider: there is no 'nosuch', only one. For a model of that name, write one/nosuch/x",
  ]);
  expect(found({ default: 'openai/gpt-5.2' })).toEqual([
    "models.default: 'openai/gpt-5.2' names no provider: openai is not configured. Set OPENAI_API_KEY",
  ]);
  expect(found({ default: 'gpt-5.2' })).toEqual([
    "models.default: 'gpt-5.2' names no provider: none is configured, and the offline model would answer for it",
  ]);
  expect(found({ default: 'one/y', providers: { one: { ...one, models: ['x'] } } })).toEqual([
    "models.default: 'one/y' is not in models.providers.one.models",
  ]);
});

verifies('models.router.misnamed', 'an alias to nothing, also in a list, and one that leads back', () => {
  const aliases = { best: ['one/x', 'gone/x'], a: 'b', b: 'a', short: 'best', bad: 'nowhere/y' };
  expect(found({ providers: { one }, aliases }).map((each) => each.slice(0, each.indexOf(':', 8)))).toEqual([
    'models.aliases.best[1]',
    'models.aliases.a',
    'models.aliases.b',
    'models.aliases.bad',
  ]);
  expect(found({ default: 'best', providers: { one }, aliases: { best: ['one/x', 'default'] } })).toEqual([
    "models.aliases.best: 'best' leads back to itself",
  ]);
});

test('what leads somewhere is fine', () => {
  expect(found({})).toEqual([]);
  expect(found({ default: 'offline', aliases: { x: 'offline/offline' } })).toEqual([]);
  expect(found({ default: 'best', providers: { one }, aliases: { best: ['one/x', 'y', 'offline'] } })).toEqual([]);
  expect(found({ default: 'one/x', providers: { one }, aliases: { best: 'default', default: 'one/y' } })).toEqual([]);
  const listed = { ...one, models: ['meta-llama/Llama-3'] };
  expect(found({ default: 'meta-llama/Llama-3', providers: { one: listed } })).toEqual([]);
});
