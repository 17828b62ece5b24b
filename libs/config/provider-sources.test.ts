import { expect, test } from 'vitest';
import { providerSources } from './provider-sources.js';
import { readConfig } from './read-config.js';
import { providerSchema } from './schema.js';

function sourcesOf(environment: Record<string, string>, text = '') {
  const { providers } = readConfig({ environment, file: { path: 'signalbox.yaml', text } }).models;
  return Object.fromEntries(Object.entries(providers).map(([name, each]) => [name, providerSources(name, each)]));
}

test('a provider of a variable: it, and the one that would change its address', () => {
  expect(sourcesOf({ OPENAI_API_KEY: 'k', OLLAMA_BASE_URL: 'http://127.0.0.1:1' })).toEqual({
    openai: { address: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY' },
    ollama: { address: 'OLLAMA_BASE_URL', key: 'models.providers.ollama.api_key' },
  });
});

test('a provider of the file: the variable in its text, else the path', () => {
  const text = `
models:
  providers:
    tiny: { kind: openai, base_url: "http://127.0.0.1:1/v1", api_key: "\${TINY_KEY}" }
    other: { kind: openai, base_url: "\${WHERE:-http://127.0.0.1:1/v1}", headers: { Authorization: "Bearer \${T}" } }
    openai: { kind: openai, api_key: "\${MINE}" }
`;
  expect(sourcesOf({ TINY_KEY: 'k', T: 't', MINE: 'm' }, text)).toEqual({
    tiny: { address: 'models.providers.tiny.base_url', key: 'TINY_KEY' },
    other: { address: 'WHERE', key: 'models.providers.other.headers' },
    openai: { address: 'OPENAI_BASE_URL', key: 'MINE' },
  });
});

test('providers of one variable, and a configuration that was not read', () => {
  const MODELS_PROVIDERS = JSON.stringify({ up: { kind: 'openai', base_url: 'http://127.0.0.1:1', api_key: 'k' } });
  expect(sourcesOf({ MODELS_PROVIDERS })).toEqual({ up: { address: 'MODELS_PROVIDERS', key: 'MODELS_PROVIDERS' } });
  expect(providerSources('up', providerSchema.parse({ kind: 'openai' }))).toEqual({
    address: 'models.providers.up.base_url',
    key: 'models.providers.up.api_key',
  });
});
