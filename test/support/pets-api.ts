// An API over HTTP for the tests of a file, as a tool server `pets` whose document is a file: what it was asked, and what it answers.
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { RawToolResult } from '../../apps/worker/mcp/servers/connection.js';
import { openToolServers, type CallGiven, type ServersGiven, type ToolServers } from './tool-servers.js';

interface AskedOfApi {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

const binary = { type: 'string', format: 'binary' };
const json = (schema: object) => ({ required: true, content: { 'application/json': { schema } } });
const operations = {
  '/pets/{id}': {
    get: {
      operationId: 'getPet',
      parameters: [
        { name: 'id', in: 'path' },
        { name: 'tags', in: 'query', schema: { type: 'array' } },
      ],
    },
    put: { operationId: 'setPet', parameters: [{ name: 'id', in: 'path' }], requestBody: json({ type: 'object' }) },
    delete: { operationId: 'deletePet', parameters: [{ name: 'id', in: 'path' }] },
  },
  '/photos': {
    post: {
      operationId: 'addPhoto',
      requestBody: {
        content: { 'multipart/form-data': { schema: { properties: { photo: binary, title: { type: 'string' } } } } },
      },
    },
  },
  '/{what}': { get: { operationId: 'ask', parameters: [{ name: 'what', in: 'path' }] } },
};
export const petsDocument = (more: object = {}) => ({ openapi: '3.0.3', info: {}, paths: operations, ...more });

export const answerWith = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) =>
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(Buffer.isBuffer(body) ? body : JSON.stringify(body));

export function petsApiOfFile() {
  let http: Server;
  const api = {
    url: '',
    seen: [] as AskedOfApi[],
    /** By method and path; the others are answered with what was asked. */
    answers: {} as Record<string, (response: ServerResponse) => unknown>,
    servers: undefined as ToolServers | undefined,
    /** @param server without `openapi`: the document is a file */
    async open(
      server: object = {},
      { document = petsDocument(), ...given }: ServersGiven & { document?: object } = {},
    ) {
      await api.servers?.close();
      const pets = { openapi: 'pets.json', base_url: `${api.url}/v1`, ...server };
      const opened = await openToolServers({ pets }, given);
      api.servers = opened;
      writeFileSync(join(opened.directory, 'pets.json'), JSON.stringify(document));
      return (tool: string, args: object = {}, more: CallGiven = {}) => opened.call('pets', tool, { args, ...more });
    },
    list: () =>
      api.servers!.use('pets', (connection) => connection.listTools(AbortSignal.timeout(20_000))) as Promise<
        { name: string }[]
      >,
  };
  beforeAll(async () => {
    http = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const { method = '', url: path = '', headers } = request;
        api.seen.push({ method, url: path, headers, body: Buffer.concat(parts) });
        const answer = api.answers[`${method} ${path.split('?')[0]!}`];
        if (answer !== undefined) answer(response);
        else answerWith(response, 200, { method, path, authorization: headers.authorization ?? null });
      });
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    api.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  beforeEach(() => {
    api.seen = [];
    api.answers = {};
  });
  afterEach(async () => {
    await api.servers?.close();
    api.servers = undefined;
  });
  return api;
}

export const resultText = ({ content }: RawToolResult): string =>
  (content as { text: string }[]).map(({ text }) => text).join('\n');
