import { expect } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { type ApiOptions, readApi } from './read-api.js';

const base = 'https://api.example.com/v1';
const limits = { maxBytes: 64 * 1024, maxDepth: 32 };
const read = (text: string, options: Partial<ApiOptions> = {}) => readApi(text, { setHeaders: [], limits, ...options });

verifies(
  'openapi.credentials-told',
  'by scheme and place, of alternatives, of the document and of an operation',
  () => {
    const securitySchemes = {
      key: { type: 'apiKey', in: 'header', name: 'X-Key' },
      query: { type: 'apiKey', in: 'query', name: 'token' },
      cookie: { type: 'apiKey', in: 'cookie', name: 'sid' },
      login: { type: 'oauth2', flows: {} },
      basic: { $ref: '#/components/securitySchemes/plain' },
      plain: { type: 'http', scheme: 'basic' },
      cert: { type: 'mutualTLS' },
    };
    const operation = (operationId: string, ...security: object[]) => ({ get: { operationId, security } });
    const paths = {
      '/a': { get: { operationId: 'usual' } },
      '/b': operation('open'),
      '/c': operation('optional', {}, { key: [] }),
      '/d': operation('both', { key: [], login: ['read'] }),
      '/e': operation('either', { query: [] }, { basic: [] }),
      '/f': operation('session', { cookie: [] }),
      '/g': operation('certified', { cert: [] }),
      '/h': operation('unknown', { nothing: [], constructor: [] }),
      '/i': { get: { operationId: 'another' } },
    };
    const more = { security: [{ key: [] }], components: { securitySchemes } };
    const text = JSON.stringify({ openapi: '3.0.3', servers: [{ url: base }], paths, ...more });
    const told = (options: Partial<ApiOptions> = {}) =>
      read(text, options).needed.map(({ credentials, tools }) => [credentials, ...tools]);
    const certified = ['cert (a certificate, which is not supported)', 'certified'];
    const session = ['cookie (header Cookie with sid)', 'session'];
    expect(told()).toEqual([
      ['key (header X-Key)', 'usual', 'another'],
      ['key (header X-Key) and login (header Authorization)', 'both'],
      ['query (query token of base_url)', 'either'],
      session,
      certified,
    ]);
    expect(told({ setHeaders: ['x-key'], baseUrl: `${base}?token=t` })).toEqual([
      ['login (header Authorization)', 'both'],
      session,
      certified,
    ]);
    expect(told({ setHeaders: ['x-key', 'authorization', 'cookie'] })).toEqual([certified]);
    const swagger = {
      swagger: '2.0',
      host: 'api.example.com',
      schemes: ['https'],
      paths: { '/a': { get: { operationId: 'usual' } } },
      security: [{ key: [] }],
      securityDefinitions: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
    };
    expect(read(JSON.stringify(swagger)).needed).toEqual([{ credentials: 'key (header X-Key)', tools: ['usual'] }]);
  },
);
