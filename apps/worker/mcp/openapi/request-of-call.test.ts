import { describe, expect } from 'vitest';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import { verifies } from '../../../../test/verifies.js';
import { readApi } from './read-api.js';
import { requestOfCall } from './request-of-call.js';

const files: Record<string, string> = { 'a/photo.png': 'PNG' };
const readFile = async (path: string) => ({ name: path.split('/').at(-1)!, bytes: Buffer.from(files[path]!) });

async function request(path: string, operation: object, args: JsonObject, base = 'https://x.example/v1/') {
  const text = JSON.stringify({ openapi: '3.1.0', paths: { [path]: { post: operation } } });
  const limits = { maxBytes: 65_536, maxDepth: 32 };
  const [tool] = readApi(text, { baseUrl: base, setHeaders: [], limits }).tools;
  return requestOfCall(tool!, args, { baseUrl: base, readFile });
}

const list: Json = ['a,b', 'ü'];
const object: Json = { 'r&d': 1, g: 'x y' };
const styled = (place: string, style?: string, explode?: boolean) => ({
  name: 'it',
  in: place,
  schema: {},
  ...(style === undefined ? {} : { style }),
  ...(explode === undefined ? {} : { explode }),
});

const queries: [parameter: object, value: Json, query: string][] = [
  [styled('query'), 'a b&c=d#e', '?it=a%20b%26c%3Dd%23e'],
  [styled('query'), true, '?it=true'],
  [styled('query'), 0, '?it=0'],
  [styled('query'), null, ''],
  [styled('query'), '\ud800', '?it=%EF%BF%BD'],
  [styled('query'), list, '?it=a%2Cb&it=%C3%BC'],
  [styled('query', 'form', false), list, '?it=a%2Cb,%C3%BC'],
  [styled('query', 'spaceDelimited', false), list, '?it=a%2Cb%20%C3%BC'],
  [styled('query', 'pipeDelimited', false), list, '?it=a%2Cb%7C%C3%BC'],
  [styled('query'), [], ''],
  [styled('query'), object, '?r%26d=1&g=x%20y'],
  [styled('query', 'form', false), object, '?it=r%26d,1,g,x%20y'],
  [
    styled('query', 'deepObject'),
    { a: { b: [1, { c: 2 }] }, n: null },
    '?it%5Ba%5D%5Bb%5D%5B0%5D=1&it%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=2',
  ],
  [{ ...styled('query'), allowReserved: true }, "a/b?c:d@e!f$g'(h)*,;=[i]", '?it=a/b?c:d@e!f$g%27(h)*,;=[i]'],
  [{ ...styled('query'), allowReserved: true }, 'a&b=c+d#e f%g', '?it=a%26b=c%2Bd%23e%20f%25g'],
  [{ ...styled('query'), allowReserved: true }, 'a%2fb%26c%zz', '?it=a%2fb%26c%25zz'],
  [{ ...styled('query'), allowReserved: true }, ['a/b', 'c&d'], '?it=a/b&it=c%26d'],
  [{ ...styled('query', 'form', false), allowReserved: true }, { 'r&d': 'a/b' }, '?it=r%26d,a/b'],
  [{ ...styled('query', 'deepObject'), allowReserved: true }, { a: 'b/c' }, '?it%5Ba%5D=b/c'],
  [
    { name: 'it', in: 'query', content: { 'application/json': { schema: {} } } },
    { a: [1] },
    '?it=%7B%22a%22%3A%5B1%5D%7D',
  ],
];
/** `allowReserved` is for queries. */
const paths: [parameter: object, value: Json, path: string][] = [
  [styled('path'), 'a/b?c#d%2e', '/v1/x/a%2Fb%3Fc%23d%252e/y'],
  [{ ...styled('path'), allowReserved: true }, 'a/b?c', '/v1/x/a%2Fb%3Fc/y'],
  [styled('path'), list, '/v1/x/a%2Cb,%C3%BC/y'],
  [styled('path', 'simple', true), object, '/v1/x/r%26d=1,g=x%20y/y'],
  [styled('path', 'label'), list, '/v1/x/.a%2Cb,%C3%BC/y'],
  [styled('path', 'label', true), list, '/v1/x/.a%2Cb.%C3%BC/y'],
  [styled('path', 'matrix'), list, '/v1/x/;it=a%2Cb,%C3%BC/y'],
  [styled('path', 'matrix', true), list, '/v1/x/;it=a%2Cb;it=%C3%BC/y'],
  [styled('path', 'matrix', true), object, '/v1/x/;r%26d=1;g=x%20y/y'],
];

describe('parameters', () => {
  verifies('openapi.requests', 'styles of queries', async () => {
    for (const [parameter, it, query] of queries)
      expect((await request('/x', { parameters: [parameter] }, { it })).url.search).toBe(query);
  });

  verifies('openapi.requests', 'styles of paths', async () => {
    for (const [parameter, it, path] of paths)
      expect((await request('/x/{it}/y', { parameters: [parameter] }, { it })).url.pathname).toBe(path);
  });

  verifies('openapi.requests', 'headers, cookies, and a query of the address', async () => {
    const parameters = [
      { name: 'X-Ids', in: 'header', schema: {} },
      { name: 'X-Map', in: 'header', explode: true, schema: {} },
      { name: 'theme', in: 'cookie', schema: {} },
      { name: 'lang', in: 'cookie', schema: {} },
      { name: 'q', in: 'query', schema: {} },
    ];
    const args = { 'X-Ids': [1, 2], 'X-Map': { a: 1, b: 2 }, theme: 'dark;x', lang: 'de', q: '1' };
    const { headers, url } = await request('/x?fixed=1', { parameters }, args, 'https://x.example/v1?key=k');
    expect(headers).toEqual({ 'x-ids': '1,2', 'x-map': 'a=1,b=2', cookie: 'theme=dark%3Bx; lang=de' });
    expect(url.href).toBe('https://x.example/v1/x?key=k&fixed=1&q=1');
    for (const wrong of ['a\r\nb', 'a\0', '日'])
      await expect(request('/x', { parameters }, { 'X-Ids': wrong })).rejects.toMatchObject({
        code: 'invalid_tool_arguments',
      });
  });

  verifies('openapi.contained', 'a path keeps its form', async () => {
    const one = { parameters: [styled('path')] };
    const wrong = [
      '',
      '.',
      '..',
      '../x',
      'a/../b',
      'a\\..',
      '%2e%2e',
      '%252e.',
      'a/%2E%2e/b',
      'a%2f..%2fb',
      ['a', '..'],
      { '..': 1 },
    ];
    for (const it of wrong)
      await expect(request('/x/{it}', one, { it })).rejects.toMatchObject({ code: 'invalid_tool_arguments' });
    await expect(request('/x/{it}', one, {})).rejects.toThrow("'it' is missing");
    const two = { parameters: ['a', 'b'].map((name) => ({ name, in: 'path', style: 'label', schema: {} })) };
    await expect(request('/x/{a}{b}', { parameters: two.parameters.slice(0, 1) }, { a: '.', b: '' })).rejects.toThrow();
    for (const it of ['...', 'a..b', '.hidden', 'ok'])
      expect((await request('/x/{it}', one, { it })).url.pathname).toBe(`/v1/x/${it}`);
    for (const it of ['//evil.example', 'http://evil.example', '@evil.example', '\\\\evil'])
      expect((await request('/{it}', one, { it })).url.host).toBe('x.example');
  });
});

describe('bodies', () => {
  const sent = async (content: object, body: Json) => {
    const { headers, body: bytes } = await request('/x', { requestBody: { content } }, { body });
    return { type: headers['content-type']!, text: typeof bytes === 'string' ? bytes : Buffer.from(bytes!).toString() };
  };

  verifies('openapi.requests', 'JSON comes first; a body that is not given is not sent', async () => {
    const content = { 'application/xml': {}, 'application/vnd.x+json': {} };
    expect(await sent(content, { a: [null] })).toEqual({ type: 'application/vnd.x+json', text: '{"a":[null]}' });
    expect(await request('/x', { requestBody: { content } }, {})).not.toHaveProperty('body');
    const patches = { 'application/json-patch+json': {}, 'application/strategic-merge-patch+json': {} };
    expect((await sent(patches, {})).type).toBe('application/strategic-merge-patch+json');
    expect(await sent({ '*/*': { schema: { type: 'object' } } }, {})).toEqual({ type: 'application/json', text: '{}' });
    expect(await sent({ 'text/plain': {} }, 'hi')).toEqual({ type: 'text/plain', text: 'hi' });
  });

  verifies('openapi.requests', 'forms', async () => {
    const encoding = {
      tags: { explode: false },
      deep: { style: 'deepObject' },
      meta: { contentType: 'application/json' },
    };
    const content = { 'application/x-www-form-urlencoded': { schema: {}, encoding } };
    const body = {
      a: 'x y',
      tags: [1, 2],
      more: [1, 2],
      deep: [{ p: 1 }],
      meta: { k: 1 },
      own: { k: 'v' },
      none: null,
    };
    const { type, text } = await sent(content, body);
    expect(type).toBe('application/x-www-form-urlencoded');
    expect(decodeURIComponent(text)).toBe('a=x y&tags=1,2&more=1&more=2&deep[0][p]=1&meta={"k":1}&own[k]=v');
    await expect(sent(content, 'text')).rejects.toThrow('must be an object');
  });

  verifies('openapi.files', 'in forms, from the workspace and from data: URLs', async () => {
    const binary = { type: 'string', format: 'binary' };
    const schema = {
      allOf: [{ properties: { photo: binary } }, { properties: { more: { type: 'array', items: binary } } }],
    };
    const encoding = { photo: { contentType: 'image/png' } };
    const { type, text } = await sent(
      { 'multipart/form-data': { schema, encoding } },
      { photo: 'a/photo.png', more: ['data:text/css;base64,e30='], title: 'T', list: [1, 2], meta: { k: 1 } },
    );
    const form = await new Response(text, { headers: { 'content-type': type } }).formData();
    const photo = form.get('photo') as File;
    expect([photo.name, photo.type, await photo.text()]).toEqual(['photo.png', 'image/png', 'PNG']);
    const more = form.get('more') as File;
    expect([more.type, await more.text()]).toEqual(['text/css', '{}']);
    expect([form.get('title'), form.getAll('list')]).toEqual(['T', ['1', '2']]);
    expect(await (form.get('meta') as File).text()).toBe('{"k":1}');
    for (const photo of ['data:text/css,x', 'data:;base64,%', 1, null, ''])
      if (photo !== null) await expect(sent({ 'multipart/form-data': { schema } }, { photo })).rejects.toThrow();
  });

  verifies('openapi.files', 'as a whole body', async () => {
    expect(await sent({ 'application/pdf': {} }, 'a/photo.png')).toEqual({ type: 'application/pdf', text: 'PNG' });
    expect(await sent({ 'image/*': {} }, 'data:image/gif;base64,R0lG')).toEqual({ type: 'image/gif', text: 'GIF' });
  });
});
