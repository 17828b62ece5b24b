// APIs as tool servers, with a real HTTP server at the other end. The documents are read by the thread that `npm run build` made.
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, expect } from 'vitest';
import { knowSecrets } from '#libs/audit/known-secrets.js';
import { answerWith, petsApiOfFile, petsDocument, resultText } from '../../../../test/support/pets-api.js';
import { verifies } from '../../../../test/verifies.js';
import { ApiDocument } from '../openapi/api-document.js';

const api = petsApiOfFile();
const limits = { maxBytes: 65_536, maxDepth: 32 };
afterEach(() => knowSecrets([]));

verifies('openapi.tools', 'listed and called', async () => {
  const call = await api.open({ headers: { 'X-Key': 'static' } });
  expect((await api.list()).map(({ name }) => name)).toEqual(['getPet', 'setPet', 'deletePet', 'addPhoto', 'ask']);
  const result = await call('getPet', { id: 'a/b', tags: ['x', 'y'] });
  expect(result.structuredContent).toEqual({
    method: 'GET',
    path: '/v1/pets/a%2Fb?tags=x&tags=y',
    authorization: null,
  });
  await call('setPet', { id: 1, body: { name: 'Rex' } });
  await call('deletePet', { id: 1 });
  expect(
    api.seen.map(({ method, headers, body }) => [method, headers['content-type'], headers['x-key'], body.toString()]),
  ).toEqual([
    ['GET', undefined, 'static', ''],
    ['PUT', 'application/json', 'static', '{"name":"Rex"}'],
    ['DELETE', undefined, 'static', ''],
  ]);
  await expect(call('unknown')).rejects.toMatchObject({ code: 'invalid_tool_arguments' });
  expect(api.servers!.configured.servers.at(-1)).toMatchObject({
    name: 'pets',
    isolation: 'remote',
    scope: 'shared',
    builtin: false,
  });
});

verifies(
  'openapi.documents',
  'one at an address is fetched once, without credentials, and names its own address',
  async () => {
    api.answers['GET /docs/pets.json'] = (response) =>
      answerWith(response, 200, petsDocument({ servers: [{ url: '/v2' }] }));
    const call = await api.open({
      openapi: `${api.url}/docs/pets.json`,
      base_url: undefined,
      headers: { 'X-Key': 'k' },
    });
    for (const id of [1, 2]) await call('getPet', { id });
    expect(api.seen.map((each) => [each.url, each.headers['x-key']])).toEqual([
      ['/docs/pets.json', undefined],
      ['/v2/pets/1', 'k'],
      ['/v2/pets/2', 'k'],
    ]);
  },
);

verifies('openapi.documents', 'a download ends with the last caller that waits for it', async () => {
  const closed: Promise<unknown>[] = [];
  let hangs = true;
  api.answers['GET /pets.json'] = (response) => {
    if (!hangs) return answerWith(response, 200, petsDocument());
    return void closed.push(new Promise((resolve) => response.once('close', resolve)));
  };
  await api.open();
  const document = new ApiDocument({ url: `${api.url}/pets.json` }, { baseUrl: api.url, setHeaders: [], limits });
  const [one, other] = [new AbortController(), new AbortController()];
  const reads = [one, other].map(({ signal }) => expect(document.read(signal)).rejects.toThrow('enough'));
  await expect.poll(() => closed.length).toBe(1);
  one.abort(new Error('enough'));
  await reads[0];
  hangs = false;
  const joins = new AbortController();
  const joined = expect(document.read(joins.signal)).rejects.toThrow('enough');
  other.abort(new Error('enough'));
  await reads[1];
  joins.abort(new Error('enough'));
  // The server sees that the connection is closed.
  await Promise.all([joined, ...closed]);
  expect((await document.read(AbortSignal.timeout(20_000))).tools).toHaveLength(5);
  expect(api.seen.map(({ url }) => url)).toEqual(['/pets.json', '/pets.json']);
});

verifies('openapi.documents', 'what keeps one from being fetched is said', async () => {
  const wrong: [(response: ServerResponse) => unknown, string][] = [
    [(response) => answerWith(response, 404, {}), 'answers HTTP 404'],
    [(response) => response.writeHead(302, { location: '/v1' }).end(), 'answers HTTP 302'],
    [(response) => answerWith(response, 200, Buffer.alloc(17 * 1024 * 1024, ' ')), 'sent more than'],
    [
      (response) => answerWith(response, 200, petsDocument({ servers: [{ url: 'https://other.example' }] })),
      'comes from another one',
    ],
  ];
  for (const [answer, problem] of wrong) {
    api.answers['GET /pets.json'] = answer;
    const call = await api.open({ openapi: `${api.url}/pets.json`, base_url: undefined });
    const code = 'tool_unavailable';
    await expect(call('getPet')).rejects.toMatchObject({ code, message: expect.stringContaining(problem) });
  }
});

verifies('openapi.files', 'sent from the workspace, and answers saved there', async () => {
  const call = await api.open();
  const user = { sessionId: 'sess_a', directory: 'ws_sess_a' };
  const workspace = api.servers!.workspaces.workspace({ id: user.sessionId, directory: user.directory });
  await workspace.write('pictures/rex.png', Buffer.from('PNG'), { createDirectories: true });
  await call('addPhoto', { body: { photo: 'pictures/rex.png', title: 'Rex' } }, { options: { user } });
  const [sent] = api.seen;
  const form = await new Response(new Uint8Array(sent!.body), {
    headers: { 'content-type': sent!.headers['content-type']! },
  }).formData();
  const photo = form.get('photo') as File;
  expect([photo.name, await photo.text(), form.get('title')]).toEqual(['rex.png', 'PNG', 'Rex']);
  for (const path of ['../ws_other/x', '/etc/passwd', 'pictures/none.png'])
    await expect(call('addPhoto', { body: { photo: path } }, { options: { user } })).rejects.toMatchObject({
      name: 'AppError',
    });
  expect(api.seen).toHaveLength(1);
  api.answers['GET /v1/bill'] = (response) =>
    answerWith(response, 200, Buffer.from('%PDF'), { 'content-type': 'application/pdf' });
  const [, path] = /saved as \/mcp_workspaces\/sess_a\/(\S+)\]$/.exec(
    resultText(await call('ask', { what: 'bill' }, { options: { user } })),
  )!;
  const file = await workspace.openFile(path!);
  expect(file.info.size).toBe(4);
  await file.close();
});

verifies('openapi.answers', 'errors, other statuses, and what is compressed', async () => {
  const call = await api.open();
  api.answers['GET /v1/gone'] = (response) => answerWith(response, 404, { message: 'no such pet' });
  expect(await call('ask', { what: 'gone' })).toEqual({
    isError: true,
    content: [{ type: 'text', text: 'HTTP 404\n{"message":"no such pet"}' }],
  });
  api.answers['GET /v1/none'] = (response) => response.writeHead(204).end();
  expect(resultText(await call('ask', { what: 'none' }))).toContain('204');
  api.answers['GET /v1/small'] = (response) =>
    answerWith(response, 200, gzipSync('{"a":1}'), { 'content-encoding': 'gzip' });
  expect((await call('ask', { what: 'small' })).structuredContent).toEqual({ a: 1 });
  api.answers['GET /v1/broken'] = (response) =>
    answerWith(response, 200, Buffer.from('x'), { 'content-encoding': 'gzip' });
  await expect(call('ask', { what: 'broken' })).rejects.toMatchObject({ code: 'invalid_tool_result' });
  api.answers['GET /v1/cut'] = (response) => response.socket!.destroy();
  await expect(call('ask', { what: 'cut' })).rejects.toMatchObject({ code: 'tool_crashed' });
});

verifies('openapi.bounded', 'too large, too slow, cancelled', async () => {
  const call = await api.open(
    { max_timeout_ms: 300, timeout_ms: 300 },
    { environment: { TOOLS_MAX_READ_BYTES: '262144' } },
  );
  const large = Buffer.alloc(400_000, 'x');
  api.answers['GET /v1/large'] = (response) => answerWith(response, 200, large);
  api.answers['GET /v1/bomb'] = (response) =>
    answerWith(response, 200, gzipSync(large), { 'content-encoding': 'gzip' });
  for (const what of ['large', 'bomb'])
    await expect(call('ask', { what })).rejects.toMatchObject({ code: 'result_too_large' });
  expect(api.servers!.bounds).toEqual(['pets: message_bytes', 'pets: message_bytes']);
  const closed: Promise<unknown>[] = [];
  api.answers['GET /v1/hang'] = (response) =>
    void closed.push(new Promise((resolve) => response.once('close', resolve)));
  await expect(call('ask', { what: 'hang' })).rejects.toMatchObject({ code: 'tool_timeout' });
  const stop = new AbortController();
  const asked = call('ask', { what: 'hang' }, { options: { signal: stop.signal } });
  const ended = expect(asked).rejects.toThrow('enough');
  await expect.poll(() => closed.length).toBe(2);
  stop.abort(new Error('enough'));
  await ended;
  await Promise.all(closed);
});

verifies('openapi.contained', 'redirects are not followed, and steps are refused', async () => {
  const call = await api.open({ headers: { Authorization: 'Bearer canary-static-token' } });
  api.answers['GET /v1/moved'] = (response) => response.writeHead(302, { location: `${api.url}/elsewhere` }).end();
  expect(resultText(await call('ask', { what: 'moved' }))).toContain('is not followed');
  for (const what of ['..', '.', '%2e%2e', ''])
    await expect(call('ask', { what })).rejects.toMatchObject({ code: 'invalid_tool_arguments' });
  expect(api.seen.map((each) => each.url)).toEqual(['/v1/moved']);
});

verifies('openapi.contained', 'an address that only the document names must be public', async () => {
  const document = petsDocument({ servers: [{ url: `https://127.0.0.1:${new URL(api.url).port}` }] });
  const call = await api.open({ base_url: undefined }, { document });
  await expect(call('getPet', { id: 1 })).rejects.toMatchObject({ code: 'tool_denied' });
});

verifies('openapi.secrets', 'of headers, which an API repeats', async () => {
  knowSecrets(['canary-static-token']);
  const call = await api.open({ headers: { Authorization: 'Bearer canary-static-token' } });
  expect((await call('getPet', { id: 1 })).structuredContent).toMatchObject({ authorization: 'Bearer [redacted]' });
  expect(api.seen[0]!.headers.authorization).toBe('Bearer canary-static-token');
});

verifies('openapi.documents', 'what is wrong with one is said, and read again', async () => {
  const call = await api.open({}, { document: { openapi: '3.0.0', paths: {} } });
  await expect(call('getPet')).rejects.toMatchObject({
    code: 'tool_unavailable',
    message: expect.stringContaining('has no operations'),
  });
  writeFileSync(join(api.servers!.directory, 'pets.json'), JSON.stringify(petsDocument()));
  await expect.poll(() => call('getPet', { id: 1 }).catch(() => undefined), { timeout: 20_000 }).toBeDefined();
});
