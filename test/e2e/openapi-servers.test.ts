// An API with an OpenAPI document as a tool server: through gateway and worker, with a document that changes, and in the commands.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { stringify } from 'yaml';
import { runProgram } from '../support/run-program.js';
import { startSignalbox, type Signalbox } from '../support/services/start-signalbox.js';
import { callTool, offeredTools } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

const program = fileURLToPath(new URL('../../scripts/signalbox.mjs', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'signalbox-openapi-'));
const at = (name: string) => join(directory, name);
const patient = { timeout: 40_000, interval: 50 };
let api: Server;
let url: string;
let box: Signalbox;

const operations = {
  '/customers': {
    get: {
      operationId: 'listCustomers',
      tags: ['crm'],
      parameters: [{ name: 'page', in: 'query', schema: { type: 'integer' } }],
    },
    post: {
      operationId: 'addCustomer',
      tags: ['crm'],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
          },
        },
      },
    },
  },
  '/internal': { delete: { operationId: 'dropAll', tags: ['internal'] } },
};
const documentOf = (paths: object) => stringify({ openapi: '3.0.3', info: { title: 'CRM', version: '1' }, paths });

function write(name: string, text: string): void {
  writeFileSync(at(`${name}~`), text);
  renameSync(at(`${name}~`), at(name));
}

beforeAll(async () => {
  api = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json', link: '</v1/customers?page=2>; rel="next"' });
      response.end(
        JSON.stringify({ method: request.method, url: request.url, key: request.headers['x-key'] ?? null, text }),
      );
    });
  });
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(api.address() as AddressInfo).port}/v1`;
  write('crm.yaml', documentOf(operations));
  const crm = { openapi: './crm.yaml', base_url: url, operations: ['crm'], headers: { 'X-Key': '${CRM_KEY}' } };
  const tools = { changes: { new: 'allow' } };
  write('signalbox.yaml', stringify({ mcpServers: { crm }, tools }));
  box = await startSignalbox({
    scripted: false,
    environment: { SIGNALBOX_CONFIG: at('signalbox.yaml'), CRM_KEY: 'canary-crm-key' },
  });
}, 120_000);
afterAll(async () => {
  await box?.close();
  api?.closeAllConnections();
  await new Promise((resolve) => api.close(resolve));
  rmSync(directory, { recursive: true });
});

const isOffered = (name: string) =>
  expect.poll(async () => [...(await offeredTools(box.url)).keys()], patient).toContain(name);
const call = (name: string, args: object) => callTool(box.url, { name, arguments: args, session_id: 'sess_openapi' });

verifies('openapi.tools', 'offered and called through gateway and worker', async () => {
  await isOffered('listCustomers');
  const { data } = (await (await fetch(`${box.url}/api/tools`)).json()) as {
    data: { server: string; function: { name: string }; annotations: object }[];
  };
  const mine = data.filter(({ server }) => server === 'crm');
  expect(mine.map(({ function: { name }, annotations }) => [name, annotations])).toEqual([
    ['listCustomers', expect.objectContaining({ readOnlyHint: true })],
    ['addCustomer', expect.objectContaining({ readOnlyHint: false })],
  ]);
  const added = await call('addCustomer', { body: { name: 'Ada' } });
  expect(added.body.structured_content).toMatchObject({
    method: 'POST',
    url: '/v1/customers',
    text: '{"name":"Ada"}',
    key: '[redacted]',
  });
  expect((await call('addCustomer', { body: {} })).body.error).toMatchObject({ code: 'invalid_tool_arguments' });
  expect((await call('listCustomers', { page: 1 })).body.content).toContain(
    'There is a next page: call again with page: "2".',
  );
  const { servers } = (await (await fetch(`${box.url}/api/servers`)).json()) as { servers: { name: string }[] };
  expect(servers.find(({ name }) => name === 'crm')).toMatchObject({ state: 'ready', isolation: 'remote', tools: 2 });
});

verifies('openapi.documents', 'changed while the worker runs, and one with an error', async () => {
  const more = { '/orders': { get: { operationId: 'listOrders', tags: ['crm'] } } };
  write('crm.yaml', documentOf({ ...operations, ...more }));
  await isOffered('listOrders');
  expect((await call('listOrders', {})).body.structured_content).toMatchObject({ url: '/v1/orders' });
  write('crm.yaml', 'openapi: 3.0.3\npaths: {}\n');
  const reason = async () => {
    const { servers } = (await (await fetch(`${box.url}/api/servers`)).json()) as {
      servers: { name: string; state: string; reason?: string }[];
    };
    return servers.find(({ name }) => name === 'crm')?.reason ?? '';
  };
  await expect.poll(reason, patient).toContain('has no operation');
  write('crm.yaml', documentOf(operations));
});

verifies('openapi.left-out', 'with the reason; gone again when the document is mended', async () => {
  const leftOut = async () => {
    const { servers } = (await (await fetch(`${box.url}/api/servers`)).json()) as {
      servers: { name: string; left_out?: string[] }[];
    };
    return servers.find(({ name }) => name === 'crm')?.left_out;
  };
  write(
    'crm.yaml',
    documentOf({ ...operations, '/found': { query: { operationId: 'findCustomers', tags: ['crm'] } } }),
  );
  await expect.poll(leftOut, patient).toEqual(['findCustomers: its method QUERY is not sent']);
  write('crm.yaml', documentOf(operations));
  await expect.poll(leftOut, patient).toBeUndefined();
});

const run = (...words: string[]) =>
  runProgram(process.execPath, [program, ...words], {
    cwd: directory,
    env: { PATH: process.env['PATH'], DATA_DIR: at('data'), CRM_KEY: 'canary-crm-key' },
    timeoutMs: 60_000,
  });

verifies('openapi.checked', 'config check, doctor and tools document', async () => {
  write('crm.yaml', documentOf(operations));
  const checked = await run('config', 'check');
  expect([checked.code, checked.stdout]).toEqual([
    0,
    expect.stringMatching(/ok +mcpServers\.crm +remote, 2 tools of OpenAPI 3\.0\.3/),
  ]);
  const doctor = await run('doctor', 'server', 'crm', '--json');
  expect(JSON.parse(doctor.stdout)).toMatchObject([
    { check: 'document', what: expect.stringContaining('2 operations, 2 tools') },
    { check: 'reached', what: expect.stringContaining('without credentials it answers 200') },
    { check: 'credentials', what: 'requests carry X-Key' },
    { check: 'arrived', what: expect.stringContaining('arrived with x-key (14 characters)') },
  ]);
  expect(`${doctor.stdout}${checked.stdout}`).not.toContain('canary');
  const login = { type: 'http', scheme: 'bearer' };
  const signed = { ...operations, '/mine': { get: { operationId: 'mine', tags: ['crm'], security: [{ login: [] }] } } };
  write('crm.yaml', `${documentOf(signed)}components: { securitySchemes: { login: ${JSON.stringify(login)} } }\n`);
  const unsigned = await run('doctor', 'server', 'crm');
  expect([unsigned.code, unsigned.stdout]).toEqual([
    1,
    expect.stringContaining('requests do not carry login (header Authorization), which its document asks for: mine'),
  ]);
  expect((await run('config', 'check')).stdout).toContain('3 tools of OpenAPI 3.0.3, 1 need credentials');
  write('crm.yaml', documentOf(operations));
  const measured = await run('tools', 'document', 'crm.yaml');
  expect([measured.code, measured.stdout]).toEqual([0, expect.stringMatching(/\| crm\.yaml \| 3\.0\.3 \| 3 \| 3 \|/)]);
  write('crm.yaml', 'openapi: 4.0.0\n');
  const wrong = await run('config', 'check');
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('its document is of version 4.0.0')]);
  expect((await run('doctor', 'server', 'crm')).stdout).toContain('STOP  document');
  expect(await run('tools', 'document', 'crm.yaml')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('version 4.0.0'),
  });
  write('crm.yaml', documentOf(operations));
});
