// Compares real answers with the OpenAPI document that the gateway serves: every operation is called, and its answers must
// have a documented status, media type and shape.
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { type SignalboxHere, startSignalboxHere, toolsReady } from '../support/services/start-signalbox.js';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { type AppServer, startAppServer } from '../support/app-server.js';
import {
  askApprovals,
  askAudit,
  askConnections,
  askKeys,
  askMcp,
  askOffers,
  askUsage,
  type DocumentedRequest,
} from '../support/documented-requests.js';
import { eventually } from '../support/eventually.js';
import { type OfferingServer, startOfferingServer } from '../support/offering-server.js';
import { verifies } from '../verifies.js';

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: JsonObject }> }>;
}
interface Document extends JsonObject {
  paths: JsonObject;
}
const directory = mkdtempSync(join(tmpdir(), 'signalbox-open-api-'));
let box: SignalboxHere;
let sales: AppServer;
let library: OfferingServer;
let document: Document;
let ajv: Ajv2020;
/** Each operation that was called, with the statuses it returned. */
const met = new Map<string, Set<string>>();

beforeAll(async () => {
  const rules = [{ name: 'asked', tool: 'workspace/delete_file', effect: 'require_approval' }];
  const allowed = { name: 'sales', tool: 'sales/*', effect: 'allow' };
  const file = join(directory, 'signalbox.yaml');
  sales = await startAppServer('sales');
  library = await startOfferingServer();
  // Nobody is there: what users give for it is stored all the same.
  const desk = { url: 'http://127.0.0.1:9/mcp', auth: { kind: 'headers', names: ['X-Key'] } };
  const mcpServers = {
    workspace: { builtin: 'workspace' },
    sales: { url: sales.url },
    library: { url: library.url },
    desk,
  };
  const toolsets = { clerk: ['workspace/read_*'] };
  writeFileSync(file, JSON.stringify({ policy: { rules: [...rules, allowed] }, mcpServers, toolsets }));
  box = await startSignalboxHere({
    scripted: false,
    environment: { SIGNALBOX_CONFIG: file, VAULT_KEY: Buffer.alloc(32, 7).toString('base64') },
  });
  await toolsReady(box.url);
  await eventually(async () => (await fetch(`${box.url}/api/tools/sales`)).ok, 15_000);
  document = closed((await (await fetch(`${box.url}/openapi.json`)).json()) as Document, '') as Document;
  ajv = new Ajv2020({ strict: false });
  formats.default(ajv);
  ajv.addSchema(document, 'document');
});
afterAll(async () => {
  await box?.close();
  await sales?.close();
  await library?.close();
  rmSync(directory, { recursive: true });
});

/** Makes our own shapes refuse undocumented members; shapes of standards may have more. */
function closed(value: Json, path: string): Json {
  if (Array.isArray(value)) return value.map((item, index) => closed(item, `${path}/${index}`));
  if (!isJsonObject(value)) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, closed(each, `${path}/${key}`)]));
  const names = Object.keys(isJsonObject(value['properties']) ? value['properties'] : {});
  const open = names.includes('prompt_tokens') || value['additionalProperties'] !== undefined || names.length === 0;
  return open || !/^\/(?:paths\/\/(?:api\/[rst]|health)|components)/.test(path)
    ? inner
    : { ...inner, additionalProperties: false };
}

const pointer = (...parts: string[]) =>
  parts.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

function conforms(schema: string, value: unknown, where: string): void {
  const validate = ajv.compile({ $ref: `document#${encodeURI(schema)}` });
  expect(validate(value), `${where}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value)}`).toBe(true);
}

/** Sends the request and checks the answer against `operation` (`GET /api/runs/{id}`). Returns its body. */
async function ask(
  operation: string,
  request: DocumentedRequest,
): Promise<{ status: number; body: unknown; headers: Headers }> {
  const [method, template] = operation.split(' ') as [string, string];
  const { responses } = (document.paths[template] as JsonObject)[method.toLowerCase()] as unknown as Operation;
  const json: Record<string, string> = request.body === undefined ? {} : { 'content-type': 'application/json' };
  const body = request.raw ?? (request.body === undefined ? null : JSON.stringify(request.body));
  const answer = await fetch(box.url + request.path, { method, body, headers: { ...json, ...request.headers } });
  const text = await answer.text();
  const status = answer.status in responses ? String(answer.status) : 'default';
  const where = `${operation} ${answer.status}`;
  if (status === 'default') expect(answer.status, `${where} ${text}`).toBeGreaterThanOrEqual(400);
  met.set(operation, (met.get(operation) ?? new Set()).add(status));
  const content = responses[status]!.content;
  if (content === undefined || method === 'HEAD') {
    expect(text, where).toBe('');
    return { status: answer.status, body: undefined, headers: answer.headers };
  }
  const type = (answer.headers.get('content-type') ?? '').split(';', 1)[0]!;
  const media = type in content ? type : '*/*';
  expect(Object.keys(content), `${where} ${type}`).toContain(media);
  const at = pointer('paths', template, method.toLowerCase(), 'responses', status, 'content', media);
  if (type === 'text/event-stream') {
    const { 'x-event-schema': event } = content[media]!.schema as { 'x-event-schema'?: { $ref: string } };
    for (const line of text.split('\n').filter((each) => each.startsWith('data: {'))) {
      if (event !== undefined) conforms(event.$ref.slice(1), JSON.parse(line.slice(6)), where);
    }
    return { status: answer.status, body: text, headers: answer.headers };
  }
  const value: unknown = type === 'application/json' ? JSON.parse(text) : text;
  conforms(`${at}/schema`, value, where);
  return { status: answer.status, body: value, headers: answer.headers };
}

const write = 'Write "hello" to notes.txt';
const workspace = { type: 'mcp', server_label: 'workspace' };
const messages = [{ role: 'user', content: write }];

async function askChats(): Promise<string> {
  let runId = '';
  for (const path of ['/v1/chat/completions', '/api/chat/completions']) {
    for (const stream of [false, true]) {
      const body = { messages, tools: [workspace], stream, stream_options: stream ? { include_usage: true } : null };
      const { headers } = await ask(`POST ${path}`, { path: path, body });
      runId = headers.get('x-run-id')!;
    }
    const client = { type: 'function', function: { name: 'write_file', parameters: { type: 'object' } } };
    const body = { messages, tools: [client], tool_mode: 'manual', stream: true };
    await ask(`POST ${path}`, { path: path, body });
    await ask(`POST ${path}`, { path: path, body: { messages: [] } });
    await ask(`POST ${path}`, { path: path, body: { messages, model: 'nobody/knows' } });
  }
  const toolset = { type: 'mcp_toolset', mcp_server_name: 'workspace' };
  for (const stream of [false, true])
    await ask('POST /v1/messages', {
      path: '/v1/messages',
      body: { messages, max_tokens: 99, tools: [toolset], stream },
    });
  await ask('POST /v1/messages', { path: '/v1/messages', raw: '{' });
  for (const body of [{ messages }, {}])
    await ask('POST /v1/messages/count_tokens', { path: '/v1/messages/count_tokens', body });
  return runId;
}

async function askResponses(): Promise<void> {
  const path = '/v1/responses';
  await ask('POST /v1/responses', { path, body: { input: write, stream: true, tools: [workspace] } });
  await ask('POST /v1/responses', { path, body: { input: write, background: true } });
  const { body } = await ask('POST /v1/responses', { path, body: { input: write, tools: [workspace] } });
  const at = `${path}/${(body as { id: string }).id}`;
  await ask('GET /v1/responses/{id}', { path: at });
  await ask('GET /v1/responses/{id}', { path: `${at}?stream=true` });
  await ask('GET /v1/responses/{id}/input_items', { path: `${at}/input_items?limit=1` });
  await ask('GET /v1/responses/{id}/input_items', { path: `${at}/input_items?limit=0` });
  await ask('POST /v1/responses/{id}/cancel', { path: `${at}/cancel` });
  await ask('DELETE /v1/responses/{id}', { path: at });
  for (const operation of ['DELETE /v1/responses/{id}', 'GET /v1/responses/{id}']) await ask(operation, { path: at });
  await ask('GET /v1/responses/{id}/input_items', { path: `${at}/input_items` });
  await ask('POST /v1/responses/{id}/cancel', { path: `${at}/cancel` });
  for (const each of [{ input: write }, { input: 1 }])
    await ask('POST /v1/responses/input_tokens', { path: `${path}/input_tokens`, body: each });
}

async function askModelsAndTools(): Promise<void> {
  await ask('GET /v1/models', { path: '/v1/models' });
  for (const name of ['offline', 'no/such']) await ask('GET /v1/models/{path}', { path: `/v1/models/${name}` });
  const { headers } = await ask('GET /api/tools', { path: '/api/tools' });
  await ask('GET /api/tools', { path: '/api/tools', headers: { 'if-none-match': headers.get('etag')! } });
  await ask('GET /api/tools', { path: '/api/tools?include=verdict,usage' });
  for (const name of ['get_time', 'no/such']) await ask('GET /api/tools/{path}', { path: `/api/tools/${name}` });
  for (const limit of [1, 0]) await ask('GET /api/tools/changes', { path: `/api/tools/changes?limit=${limit}` });
  const changes = { server: 'workspace', tool: 'get_time', hash: 'none' };
  for (const each of [[], [changes]])
    await ask('POST /api/tools/changes', { path: '/api/tools/changes', body: { decision: 'accept', changes: each } });
  await ask('GET /api/servers', { path: '/api/servers' });
  for (const headers of [{}, { accept: 'text/event-stream' }] as Record<string, string>[])
    for (const name of ['get_time', 'read_file', 'no_such'])
      await ask('POST /api/tools/call', {
        path: '/api/tools/call',
        headers,
        body: { name, arguments: { path: 'none' } },
      });
  const { body } = await ask('POST /api/tools/call', { path: '/api/tools/call', body: { name: 'sales' } });
  for (const id of [(body as { id: string }).id, 'call_none'])
    await ask('POST /api/apps', { path: '/api/apps', body: { call_id: id } });
}

async function askSessions(): Promise<void> {
  const path = '/api/sessions';
  for (const body of [
    { session_id: 'sess_1', metadata: { a: 1 } },
    { session_id: 'sess_1' },
    undefined,
    { session_id: '/' },
  ])
    await ask('POST /api/sessions', { path, body });
  for (const query of ['limit=1', 'limit=many', 'principal=*'])
    await ask('GET /api/sessions', { path: `${path}?${query}` });
  const file = `${path}/sess_1/files/a/b.txt`;
  for (const headers of [{}, {}, { 'if-none-match': '*' }] as Record<string, string>[])
    await ask('PUT /api/sessions/{id}/files/{path}', { path: file, raw: 'hello', headers });
  for (const query of ['', '?archive=tar', '?archive=zip'])
    await ask('GET /api/sessions/{id}/files', { path: `${path}/sess_1/files${query}` });
  const found = await ask('GET /api/sessions/{id}/files/{path}', { path: file });
  const etag = found.headers.get('etag')!;
  for (const method of ['GET', 'HEAD']) {
    const one = `${method} /api/sessions/{id}/files/{path}`;
    await ask(one, { path: file });
    for (const headers of [{ range: 'bytes=1-2' }, { range: 'bytes=9-' }, { 'if-none-match': etag }] as Record<
      string,
      string
    >[])
      await ask(one, { path: file, headers });
  }
  for (const target of [file, `${path}/sess_1/files/a?recursive=true`, file])
    await ask('DELETE /api/sessions/{id}/files/{path}', { path: target });
  await ask('GET /api/sessions/{id}', { path: `${path}/sess_1` });
  for (const _ of [1, 2]) await ask('DELETE /api/sessions/{id}', { path: `${path}/sess_1` });
  await ask('GET /api/sessions/{id}', { path: `${path}/sess_1` });
}

async function askRuns(runId: string): Promise<void> {
  for (const id of [runId, 'run_none']) {
    await ask('GET /api/runs/{id}', { path: `/api/runs/${id}` });
    await ask('GET /api/runs/{id}/events', { path: `/api/runs/${id}/events`, headers: { 'last-event-id': '2' } });
    await ask('DELETE /api/runs/{id}', { path: `/api/runs/${id}` });
  }
  await ask('GET /api/runs/{id}', { path: `/api/runs/${runId}?include=rounds,calls,events` });
  const replay = await ask('POST /api/runs/{id}/replay', { path: `/api/runs/${runId}/replay` });
  const { id } = replay.body as { id: string };
  await ask('GET /api/runs/{id}/events', { path: `/api/runs/${id}/events` });
  await ask('GET /api/runs/{id}', { path: `/api/runs/${id}?include=rounds,calls,events` });
  for (const body of [{ policy: 'rules: [' }, { messages: [] }])
    await ask('POST /api/runs/{id}/replay', { path: `/api/runs/${runId}/replay`, body });
  for (const query of ['?limit=2', '?state=none']) await ask('GET /api/runs', { path: `/api/runs${query}` });
  for (const path of [
    '/api/overview',
    '/api/workers',
    '/api/models/health',
    '/api/settings',
    '/api/me',
    '/health/live',
    '/health/ready',
    '/metrics',
  ])
    await ask(`GET ${path}`, { path });
}

/** Statuses that would require something held open, broken or changed. */
const notMet = [
  'GET /mcp 200',
  'GET /mcp/{toolset} 200',
  'GET /sse 200',
  'POST /sse/messages 202',
  'GET /health/ready 503',
  'POST /api/tools/changes 200',
];

verifies('operations.open-api-true', 'every operation, each status that is documented', async () => {
  const runId = await askChats();
  await Promise.all([
    askResponses(),
    askModelsAndTools(),
    askSessions(),
    askRuns(runId),
    askMcp(ask),
    askApprovals(ask),
  ]);
  await askConnections(ask);
  await Promise.all([
    askResponses(),
    askModelsAndTools(),
    askOffers(ask),
    askSessions(),
    askRuns(runId),
    askMcp(ask),
    askApprovals(ask),
  ]);
  await askUsage(ask);
  await askAudit(ask);
  await askKeys(ask);
  const missing = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods as unknown as Record<string, Operation>).flatMap(([method, { responses }]) =>
      Object.keys(responses)
        .filter((status) => status !== 'default' && met.get(`${method.toUpperCase()} ${path}`)?.has(status) !== true)
        .map((status) => `${method.toUpperCase()} ${path} ${status}`),
    ),
  );
  expect(new Set(missing)).toEqual(new Set(notMet));
});
