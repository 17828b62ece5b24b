import { describe, expect } from 'vitest';
import { stringify } from 'yaml';
import { maxDocumentBytes } from '#libs/config/servers/document-hash.js';
import { verifies } from '../../../../test/verifies.js';
import { type ApiOptions, readApi } from './read-api.js';

const limits = { maxBytes: 64 * 1024, maxDepth: 32 };
const base = 'https://api.example.com/v1';
const ok = { responses: { 200: { description: 'ok' } } };

function document(paths: object, more: object = {}): string {
  return JSON.stringify({ openapi: '3.0.3', info: {}, servers: [{ url: base }], paths, ...more });
}
const read = (text: string, options: Partial<ApiOptions> = {}) => readApi(text, { setHeaders: [], limits, ...options });
const names = (paths: object, options: Partial<ApiOptions> = {}) =>
  read(document(paths), options).tools.map(({ definition }) => definition.name);

describe('the tools of a document', () => {
  verifies('openapi.tools', 'named by id, or by method and path, each name once', () => {
    const paths = {
      '/users': { get: { operationId: 'users/list all' }, post: { operationId: 'users/list.all' } },
      '/users/{id}': { get: ok, delete: ok, parameters: [{ name: 'id', in: 'path' }] },
      '/files/{a}.{b}': { put: { operationId: 'x'.repeat(100) }, get: { operationId: '新' } },
      '/more': { post: { operationId: 'x'.repeat(90) }, trace: ok },
    };
    expect(names(paths)).toEqual([
      'users_list_all',
      'users_list_all_2',
      'get_users_by_id',
      'delete_users_by_id',
      'get_files_by_a_by_b',
      'x'.repeat(64),
      `${'x'.repeat(62)}_2`,
    ]);
  });

  verifies('openapi.tools', 'described by summary, description, method and path; annotated by method', () => {
    const get = { operationId: 'a', summary: 'Lists pets', description: 'All of them.', deprecated: true };
    const { tools } = read(document({ '/pets': { get, put: ok, delete: ok, post: ok, head: ok, patch: ok } }));
    expect(tools[0]!.definition).toMatchObject({
      title: 'Lists pets',
      description: 'Deprecated.\nLists pets\nAll of them.\nGET /pets',
    });
    const hints = tools.map(({ method, definition: { annotations } }) => [method, annotations]);
    expect(Object.fromEntries(hints)).toMatchObject({
      GET: { readOnlyHint: true },
      HEAD: { readOnlyHint: true },
      PUT: { readOnlyHint: false, idempotentHint: true, destructiveHint: true },
      DELETE: { readOnlyHint: false, destructiveHint: true },
      POST: { readOnlyHint: false, idempotentHint: false },
      PATCH: { readOnlyHint: false, idempotentHint: false, destructiveHint: true },
    });
    expect(tools.find(({ method }) => method === 'POST')!.definition.annotations).not.toHaveProperty('destructiveHint');
  });

  verifies('openapi.tools', 'chosen by globs of ids, tags and names, in order', () => {
    const paths = {
      '/a': { get: { operationId: 'pets/list', tags: ['pets'] }, post: { operationId: 'pets/add', tags: ['pets'] } },
      '/b': { get: { tags: ['shop items'] } },
    };
    expect(names(paths, { operations: ['pets/*'] })).toEqual(['pets_list', 'pets_add']);
    expect(names(paths, { operations: ['pets', '!pets/add'] })).toEqual(['pets_list']);
    expect(names(paths, { operations: ['!pets'] })).toEqual(['get_b']);
    expect(names(paths, { operations: ['shop*', 'pets_list'] })).toEqual(['pets_list', 'get_b']);
    expect(() => names(paths, { operations: ['nothing'] })).toThrow('has no operation that `operations` names');
  });

  verifies('openapi.tools', 'keys are no arguments, nor what the address has', () => {
    const parameters = [
      { name: 'x-api-key', in: 'header', required: true },
      { name: 'key', in: 'query' },
      { name: 'token', in: 'query', required: true },
      { name: 'X-Api-Key', in: 'query' },
    ];
    const securitySchemes = {
      a: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
      b: { type: 'apiKey', in: 'query', name: 'key' },
      c: { type: 'http', scheme: 'bearer' },
    };
    const text = document({ '/it': { get: { parameters } } }, { components: { securitySchemes } });
    const [tool] = read(text, { baseUrl: `${base}?token=t` }).tools;
    expect(tool!.parameters.map(({ argument }) => argument)).toEqual(['X-Api-Key']);
  });

  verifies('openapi.tools', 'one that reads has no body', () => {
    const body = { content: { 'application/json': { schema: { type: 'object' } } } };
    const { tools } = read(document({ '/it': { get: { requestBody: body }, delete: { requestBody: body } } }));
    expect(tools.map((tool) => 'body' in tool)).toEqual([false, true]);
  });

  verifies('openapi.tools', 'arguments are parameters of path and operation, and the body', () => {
    const parameters = [
      { name: 'id', in: 'path', schema: { type: 'integer' } },
      { name: 'page[size]', in: 'query', description: 'How many', schema: { type: 'integer', default: 20 } },
      { $ref: '#/components/parameters/Trace' },
    ];
    const own = [
      { name: 'id', in: 'query', required: true, schema: { type: 'string' } },
      { name: 'body', in: 'query', content: { 'application/json': { schema: { type: 'object' } } } },
      { name: 'X-Trace', in: 'header', required: true, schema: { type: 'string' } },
      ...['X-Key', 'Authorization', 'Content-Type'].map((name) => ({ name, in: 'header', schema: {} })),
      { name: 'lost', in: 'body', schema: {} },
    ];
    const post = { parameters: own, requestBody: { required: true, content: { 'text/json': { schema: true } } } };
    const components = { parameters: { Trace: { name: 'X-Trace', in: 'header', schema: { type: 'integer' } } } };
    const text = document({ '/it/{id}': { parameters, post } }, { components });
    const [tool] = read(text, { setHeaders: ['x-key'] }).tools;
    expect(tool!.definition.inputSchema).toEqual({
      type: 'object',
      properties: {
        id: { type: 'integer' },
        page_size: { type: 'integer', description: 'How many Default: 20.' },
        'X-Trace': { type: 'string' },
        id_query: { type: 'string' },
        body: { type: 'object' },
        request_body: true,
      },
      required: ['id', 'X-Trace', 'id_query', 'request_body'],
      additionalProperties: false,
    });
    expect(tool!.parameters.find(({ argument }) => argument === 'body')).toMatchObject({ isJson: true });
  });
});

describe('documents', () => {
  const swagger = {
    swagger: '2.0',
    host: 'api.example.com',
    basePath: '/v2',
    schemes: ['http', 'https'],
    paths: {
      '/pets/{id}': {
        post: {
          operationId: 'addPet',
          consumes: ['multipart/form-data'],
          parameters: [
            { name: 'id', in: 'path', required: true, type: 'integer' },
            { name: 'tags', in: 'query', type: 'array', items: { type: 'string' }, collectionFormat: 'multi' },
            { $ref: '#/parameters/Photo' },
          ],
        },
        put: {
          operationId: 'setPet',
          parameters: [
            { $ref: '#/parameters/Pet' },
            { name: 'ids', in: 'query', type: 'array', items: { type: 'string' } },
          ],
        },
      },
    },
    parameters: {
      Photo: { name: 'photo', in: 'formData', type: 'file' },
      Pet: { name: 'pet', in: 'body', required: true, schema: { $ref: '#/definitions/Pet' } },
    },
    definitions: { Pet: { type: 'object', properties: { name: { type: 'string' } } } },
  };

  verifies('openapi.versions', 'Swagger 2, as JSON and as YAML', () => {
    const api = read(JSON.stringify(swagger));
    expect(api).toMatchObject({ version: '2.0', baseUrl: 'https://api.example.com/v2', operations: 2 });
    expect(api.tools.map(({ body }) => [body?.kind, body?.files])).toEqual([
      ['multipart', ['photo']],
      ['json', []],
    ]);
    expect(api.tools[1]!.definition.inputSchema).toMatchObject({
      properties: { body: { type: 'object', properties: { name: { type: 'string' } } } },
      required: ['body'],
    });
    const [tags, ids] = ['tags', 'ids'].map((name) =>
      api.tools.flatMap(({ parameters }) => parameters).find(({ argument }) => argument === name),
    );
    expect([tags, ids]).toMatchObject([{ style: 'form', explode: true }, { explode: false }]);
    const yaml = stringify(swagger).replace('"2.0"', '2.0');
    expect(read(yaml)).toEqual(api);
  });

  verifies('openapi.versions', '3.1 with its types and files', () => {
    const schema = {
      type: 'object',
      properties: {
        age: { type: ['integer', 'null'], exclusiveMinimum: 0 },
        photo: { type: 'string', contentMediaType: 'image/png' },
      },
    };
    const post = { requestBody: { content: { 'multipart/form-data': { schema } } } };
    const [tool] = read(document({ '/it': { post } }, { openapi: '3.1.0' })).tools;
    expect(tool!.body).toMatchObject({ kind: 'multipart', files: ['photo'] });
    expect(tool!.definition.inputSchema).toMatchObject({
      properties: { body: { properties: { age: { type: ['integer', 'null'], exclusiveMinimum: 0 } } } },
    });
  });

  const wrong: [what: string, text: string, problem: string][] = [
    ['no document', '{"name":"x"}', 'is no OpenAPI document'],
    ['no YAML', 'a: [', 'cannot be read'],
    ['a value that contains itself', 'openapi: 3.0.0\npaths: &a\n  /x: *a', 'cannot be read'],
    ['another version', document({}, { openapi: '4.0.0' }), 'is of version 4.0.0'],
    ['no operations', document({ '/x': { parameters: [] } }), 'has no operations'],
    ['a large one', `{"openapi":"3.0.0","x":"${'x'.repeat(maxDocumentBytes)}"}`, 'is larger than'],
    ['another file', document({ '/x': { $ref: 'paths/x.yaml' } }), 'paths/x.yaml, which is outside of it: bundle it'],
    [
      'too many operations',
      document(Object.fromEntries(Array.from({ length: 2_001 }, (_, at) => [`/${at}`, { get: ok }]))),
      'choose up to 2000',
    ],
  ];
  for (const [what, text, problem] of wrong) {
    verifies('openapi.versions', what, () => expect(() => read(text)).toThrow(problem));
  }
});

describe('addresses', () => {
  const at = (servers: object[], options: Partial<ApiOptions> = {}) =>
    read(document({ '/x': { get: ok } }, { servers }), options);

  verifies('openapi.contained', 'a document names an https address, one that is fetched its own', () => {
    expect(at([{ url: base }])).toMatchObject({ baseUrl: base, isFromDocument: true });
    const variables = { region: { default: 'eu' } };
    expect(at([{ url: 'https://{region}.example.com/', variables }]).baseUrl).toBe('https://eu.example.com');
    expect(() => at([{ url: 'http://api.example.com' }])).toThrow('is not https: set base_url');
    expect(() => at([{ url: '/v1' }])).toThrow('no complete address');
    expect(() => at([])).toThrow('no complete address');
    expect(() => at([{ url: 'https://{tenant}.example.com' }])).toThrow('no complete address');
    const documentUrl = 'https://docs.example.com/a/api.json';
    expect(at([{ url: '../v1' }], { documentUrl })).toMatchObject({
      baseUrl: 'https://docs.example.com/v1',
      isFromDocument: false,
    });
    expect(() => at([{ url: base }], { documentUrl })).toThrow('comes from another one: set base_url');
    const baseUrl = 'http://10.0.0.1/api';
    expect(at([{ url: base }], { documentUrl, baseUrl })).toMatchObject({ baseUrl, isFromDocument: false });
  });

  verifies('openapi.contained', 'an operation at another address is left out, unless base_url is set', () => {
    const paths = {
      '/a': { get: { operationId: 'a', servers: [{ url: 'https://api.example.com/v1/beta' }] } },
      '/b': { get: { operationId: 'b', servers: [{ url: 'https://uploads.example.com' }] }, servers: [{ url: base }] },
      '/c': { get: { operationId: 'c' } },
    };
    const { tools, leftOut } = read(document(paths));
    expect(tools.map(({ path }) => path)).toEqual(['/beta/a', '/c']);
    expect(leftOut).toEqual([expect.stringMatching(/^b: .*another address/)]);
    expect(read(document(paths), { baseUrl: base }).tools.map(({ path }) => path)).toEqual(['/a', '/b', '/c']);
  });
});

verifies('openapi.versions', '3.2: read as 3.1; what only it has is left out with the reason', () => {
  const whole = [{ name: 'filter', in: 'querystring', content: { 'application/json': { schema: {} } } }];
  const paths = {
    '/pets': {
      get: {
        operationId: 'listPets',
        parameters: [{ name: 'page', in: 'query', schema: { type: ['integer', 'null'] } }],
      },
      query: { operationId: 'queryPets' },
      additionalOperations: { COPY: { operationId: 'copyPets' }, LINK: ok },
    },
    '/found': { get: { operationId: 'findPets', parameters: whole } },
    '/events': {
      get: { operationId: 'events', responses: { 200: { content: { 'text/event-stream': { itemSchema: {} } } } } },
    },
  };
  const more = { openapi: '3.2.0', $self: 'https://api.example.com/openapi.json', tags: [{ name: 'a', parent: 'b' }] };
  const api = read(document(paths, more));
  expect(api.version).toBe('3.2.0');
  expect(api.tools.map(({ definition }) => definition.name)).toEqual(['listPets', 'events']);
  expect(api.tools[0]!.definition.inputSchema).toMatchObject({ properties: { page: { type: ['integer', 'null'] } } });
  expect(api.leftOut).toEqual([
    'queryPets: its method QUERY is not sent',
    'copyPets: its method COPY is not sent',
    'LINK_pets: its method LINK is not sent',
    'findPets: it takes the whole query as one parameter',
  ]);
});
