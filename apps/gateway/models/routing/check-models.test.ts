import { expect, test } from 'vitest';
import { configSchema } from '#libs/config/schema.js';
import { verifies } from '../../../../test/verifies.js';
import { misnamedModels } from './check-models.js';
import { type KnownModels, resolveModel } from './resolve-model.js';

const found = (models: object) =>
  misnamedModels(configSchema.parse({ models }).models, 'offline').map(
    ({ setting, message }) => `${setting}: ${message}`,
  );

const one = { kind: 'openai', base_url: 'http://127.0.0.1:9/v1' };

const listing = { ...one, models: ['x'] };

verifies('models.router.misnamed', 'a default that does not name a provider', () => {
  expect(found({ default: 'nosuch/x', providers: { one: listing } })).toEqual([
    "models.default: 'nosuch/x' does not name a provider: there is no 'nosuch', only one. For a model of that name, write one/nosuch/x",
  ]);
  expect(found({ default: 'openai/gpt-5.2' })).toEqual([
    "models.default: 'openai/gpt-5.2' does not name a provider: openai is not configured. Set OPENAI_API_KEY",
  ]);
  expect(found({ default: 'gpt-5.2' })).toEqual([
    "models.default: 'gpt-5.2' does not name a provider: none is configured, and the offline model would answer for it",
  ]);
  expect(found({ default: 'one/y', providers: { one: listing } })).toEqual([
    "models.default: 'one/y' is not in models.providers.one.models",
  ]);
  expect(found({ default: 'y', providers: { one: listing } })).toEqual([
    "models.default: 'y' is not a model of any provider: write one/y, or another provider before the name",
  ]);
});

verifies('models.router.misnamed', 'exactly the names that a request could not use', () => {
  const lists: Record<string, object>[] = [
    { one },
    { one, two: one },
    { one: listing },
    { one: listing, two: one },
    { one: listing, two: listing },
    { one: listing, two: one, three: one },
    { one: { kind: 'offline' }, two: one },
  ];
  const names = [
    'x',
    'y',
    'one/x',
    'one/y',
    'two/y',
    'nosuch/x',
    'nosuch/deep/x',
    'offline',
    'offline/y',
    'llama3.2',
    'a//b',
  ];
  const problemsOf: string[] = [];
  for (const providers of lists)
    for (const name of names)
      for (const listed of [['y'], ['nosuch/x', 'z']]) {
        const config = configSchema.parse({ models: { default: name, providers } }).models;
        const known = { config, offline: 'offline', discovered: () => listed };
        const works = resolves({ ...known, providers: Object.keys(providers) });
        const problems = misnamedModels(config, 'offline', known.discovered);
        expect([name, Object.keys(providers), problems.length === 0]).toEqual([name, Object.keys(providers), works]);
        problemsOf.push(...problems.map(({ message }) => message));
      }
  expect(problemsOf.length).toBeGreaterThan(20);
});

function resolves(known: KnownModels): boolean {
  try {
    return resolveModel(undefined, known).length > 0;
  } catch (error) {
    expect(error).toMatchObject({ code: 'model_not_found' });
    return false;
  }
}

verifies('models.router.misnamed', 'an alias to nothing, also in a list, and one that leads back', () => {
  const aliases = { best: ['one/x', 'gone/x'], a: 'b', b: 'a', short: 'best', bad: 'nowhere/y' };
  expect(found({ providers: { one: listing }, aliases }).map((each) => each.slice(0, each.indexOf(':', 8)))).toEqual([
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
  // Names of models have slashes too: the only provider without a list takes any, one of several may list it.
  expect(found({ default: 'meta-llama/Llama-3', providers: { one } })).toEqual([]);
  expect(found({ default: 'y', providers: { one, two: one } })).toEqual([]);
  const listed = { ...one, models: ['meta-llama/Llama-3'] };
  expect(found({ default: 'meta-llama/Llama-3', providers: { one: listed } })).toEqual([]);
});
