// Traces span by span, through gateway, queue and worker, as a collector gets them.
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import type { ReceivedRequest, ScriptedAnswer } from '#libs/testing/scripted-upstream.js';
import { type Signalbox, startSignalbox, toolsReady } from '#libs/testing/services/start-signalbox.js';
import { type StartedProcess, temporaryDirectory } from '#libs/testing/services/start-process.js';
import { type CollectedSpan, startTraceCollector, type TraceCollector } from '#libs/testing/trace-collector.js';
import { withClients } from '../support/mcp-clients.js';
import { messagesOf, post } from '../support/scripts.js';
import { fixture } from '../support/tool-servers.js';
import { metricOf, offeredTools } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

const canaries = {
  prompt: 'canary-prompt-1',
  argument: 'canary-argument-2',
  result: 'canary-result-3',
  answer: 'canary-answer-4',
  provider: 'canary-provider-5',
  collector: 'canary-collector-6',
  upstreamError: 'canary-error-7',
};
let collector: TraceCollector;
let hanging: TraceCollector;
let http: Server;
/** `_meta` of the calls that the HTTP server got. */
const told: Record<string, unknown>[] = [];
let box: Signalbox;
let url: string;
/** Without an endpoint. */
let plain: StartedProcess;
/** With one that never answers. */
let stuck: StartedProcess;
let coverage: Awaited<ReturnType<typeof temporaryDirectory>>;

async function serve(request: IncomingMessage): Promise<object | undefined> {
  const { id, method, params } = JSON.parse(await text(request)) as {
    id?: number;
    method?: string;
    params?: { name?: string; protocolVersion?: string; _meta?: Record<string, unknown> };
  };
  if (id === undefined) return undefined;
  if (method === 'tools/call') told.push(params!._meta!);
  const inputSchema = { type: 'object' };
  const annotations = { readOnlyHint: true };
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'web', version: '1' },
    },
    'tools/list': { tools: ['look', 'kept', 'fails'].map((name) => ({ name, inputSchema, annotations })) },
    'tools/call': { content: [{ type: 'text', text: canaries.result }], isError: params?.name === 'fails' },
  };
  const result = results[method ?? ''];
  return { jsonrpc: '2.0', id, ...(result === undefined ? { error: { code: -32_601, message: 'none' } } : { result }) };
}

/** The model `broken` fails; others call what the last user message says, then answer. */
function script(request: ReceivedRequest): ScriptedAnswer {
  if (request.body['model'] === 'broken') return { status: 500, json: { error: { message: canaries.upstreamError } } };
  const last = messagesOf(request).at(-1)!;
  const [, name] = /call (\w+)/.exec(String(last['content'])) ?? [];
  const args = name === 'add' ? { a: 1, b: 2 } : { query: canaries.argument };
  if (last['role'] === 'user' && name !== undefined) return { toolCalls: [{ name, arguments: args }] };
  return { text: [canaries.answer, ' at last'], model: 'scripted-2026' };
}

beforeAll(async () => {
  [collector, hanging, coverage] = await Promise.all([
    startTraceCollector(),
    startTraceCollector({ hangs: true }),
    temporaryDirectory(),
  ]);
  http = createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    void serve(request).then((answer) => {
      if (answer === undefined) return response.writeHead(202).end();
      const headers = { 'content-type': 'application/json', 'mcp-session-id': 'session-of-web' };
      return response.writeHead(200, headers).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  box = await startSignalbox({
    script,
    gateways: 0,
    workers: 0,
    environment: {
      MCP_SERVERS: JSON.stringify({
        web: { url: address, tools: { cache_ttl_ms: { kept: 60_000 } } },
        pipe: { command: 'node', args: [fixture('new-sdk')] },
      }),
    },
  });
  const provider = { kind: 'openai', base_url: box.upstream.baseUrl, api_key: canaries.provider, max_retries: 1 };
  const traced = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: `x-key=${canaries.collector}`,
  };
  const models = {
    MODELS_PROVIDERS: JSON.stringify({ scripted: provider }),
    MODELS_ALIASES: JSON.stringify({ best: ['scripted/broken', 'scripted/model'] }),
  };
  const [gateway] = await Promise.all([
    box.startGateway({ ...traced, ...models }),
    box.startWorker(traced),
    box.startGateway({ NODE_V8_COVERAGE: coverage.path }).then((started) => (plain = started)),
    box.startGateway({ OTEL_EXPORTER_OTLP_ENDPOINT: hanging.endpoint }).then((started) => (stuck = started)),
  ]);
  url = gateway.url;
  await Promise.all([toolsReady(url), toolsReady(plain.url)]);
  const offered = async () => [...(await offeredTools(url)).keys()];
  await vi.waitFor(async () => expect(await offered()).toEqual(expect.arrayContaining(['look', 'add'])), {
    timeout: 25_000,
    interval: 100,
  });
});
afterAll(async () => {
  await box?.close();
  http?.closeAllConnections();
  http?.close();
  await Promise.all([collector?.close(), hanging?.close(), coverage?.remove()]);
});

const chat = (content: string, more: object = {}) => ({
  model: 'scripted/model',
  messages: [{ role: 'user', content: `${canaries.prompt}: ${content}` }],
  ...more,
});
const offer = (server: string) => ({ tools: [{ type: 'mcp', server_label: server }] });

let calls = 0;
/** A trace of the caller's. */
function callerTrace(flags = '01') {
  calls += 1;
  const traceId = calls.toString(16).padStart(32, 'c');
  const spanId = calls.toString(16).padStart(16, 'e');
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-${flags}` } };
}

/** As a drawn tree: service, kind and name of each span below its parent, in the order in which they began. */
function drawn(spans: readonly CollectedSpan[], parent: string | undefined, depth = 0): string[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .flatMap((span) => [
      `${'  '.repeat(depth)}${span.service.slice('signalbox-'.length)} ${span.kind} ${span.name}${span.failed ? ' !' : ''}`,
      ...drawn(spans, span.spanId, depth + 1),
    ]);
}
const named = (spans: readonly CollectedSpan[], name: string) => {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`no span ${name}`);
  return found;
};
const traceparentOf = ({ traceId, spanId }: CollectedSpan) => `00-${traceId}-${spanId}-01`;

verifies('operations.traces', 'a streamed chat with a tool over HTTP', async () => {
  const { traceId, spanId, headers } = callerTrace();
  const asked = box.upstream.requests.length;
  const body = chat('call look', { ...offer('web'), stream: true, session_id: 'traced' });
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-request-id': 'traced-request', ...headers },
    body: JSON.stringify(body),
  });
  expect(await answer.text()).toContain(canaries.answer);
  const spans = await collector.trace(traceId, 8);
  const tree = drawn(spans, spanId);
  expect(tree[0]).toBe('gateway server POST /v1/chat/completions');
  expect(tree[1]).toBe('  gateway internal invoke_agent signalbox');
  expect(tree.slice(2).sort()).toEqual([
    '          worker client tools/call look',
    '        worker consumer process tools',
    '      gateway producer send tools',
    '    gateway client chat model',
    '    gateway client chat model',
    '    gateway internal execute_tool look',
  ]);
  expect(named(spans, 'POST /v1/chat/completions').attributes).toEqual({
    'http.request.method': 'POST',
    'http.route': '/v1/chat/completions',
    'http.response.status_code': 200,
    'signalbox.request.id': 'traced-request',
  });
  expect(named(spans, 'invoke_agent signalbox').attributes).toEqual({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'signalbox',
    'gen_ai.request.model': 'scripted/model',
    'gen_ai.conversation.id': 'traced',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.input_tokens': 20,
    'gen_ai.usage.output_tokens': 10,
    'signalbox.run.id': answer.headers.get('x-run-id'),
    'signalbox.dialect': 'openai',
    'signalbox.rounds': 2,
  });
  const asks = box.upstream.requests.slice(asked);
  const models = spans.filter(({ name }) => name === 'chat model');
  expect(asks.map((request) => request.headers['traceparent']).sort()).toEqual(models.map(traceparentOf).sort());
  const first = models.find((span) => traceparentOf(span) === asks[0]!.headers['traceparent'])!;
  const last = models.find((span) => traceparentOf(span) === asks[1]!.headers['traceparent'])!;
  expect(first.attributes['gen_ai.response.finish_reasons']).toEqual(['tool_calls']);
  expect(last.attributes).toEqual({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'scripted',
    'gen_ai.request.model': 'model',
    'gen_ai.request.stream': true,
    'gen_ai.response.model': 'scripted-2026',
    'gen_ai.response.id': expect.any(String),
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.response.time_to_first_chunk': expect.any(Number),
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
  });
  const callId = named(spans, 'execute_tool look').attributes['gen_ai.tool.call.id'];
  expect(named(spans, 'execute_tool look').attributes).toEqual({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'look',
    'gen_ai.tool.call.id': expect.stringMatching(/^call_[\da-f]{32}$/),
    'signalbox.tool.server': 'web',
    'signalbox.tool.state': 'completed',
  });
  for (const operation of ['send', 'process']) {
    expect(named(spans, `${operation} tools`).attributes).toEqual({
      'messaging.system': 'signalbox',
      'messaging.destination.name': 'tools',
      'messaging.operation.name': operation,
      'messaging.operation.type': operation,
      'messaging.message.id': callId,
    });
  }
  const mcp = named(spans, 'tools/call look');
  expect(mcp.attributes).toEqual({
    'mcp.method.name': 'tools/call',
    'mcp.session.id': 'session-of-web',
    'mcp.protocol.version': '2025-06-18',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'look',
    'network.transport': 'tcp',
    'network.protocol.name': 'http',
    'signalbox.tool.server': 'web',
  });
  expect(told.at(-1)!['traceparent']).toBe(traceparentOf(mcp));
  const rows = await box.rows('select trace_id from audit_events where call_id = $1', [callId]);
  expect(rows).toEqual([{ trace_id: traceId }]);
});

verifies('operations.traces', 'a chat that begins its trace: retry, fallback, a tool over a pipe', async () => {
  const asked = box.upstream.requests.length;
  const { status } = await post(url, '/v1/chat/completions', chat('call add', { model: 'best', ...offer('pipe') }));
  expect(status).toBe(200);
  const last = box.upstream.requests.at(-1)!.headers['traceparent'] as string;
  const traceId = last.split('-')[1]!;
  expect(box.upstream.requests.length - asked).toBe(6);
  const spans = await collector.trace(traceId, 10);
  expect(drawn(spans, undefined).sort()).toEqual([
    '          worker client tools/call add',
    '        worker consumer process tools',
    '      gateway producer send tools',
    '    gateway client chat broken !',
    '    gateway client chat broken !',
    '    gateway client chat model',
    '    gateway client chat model',
    '    gateway internal execute_tool add',
    '  gateway internal invoke_agent signalbox',
    'gateway server POST /v1/chat/completions',
  ]);
  const broken = named(spans, 'chat broken');
  expect(broken.attributes).toMatchObject({ 'error.type': 'model_error', 'gen_ai.request.model': 'broken' });
  expect(broken.events).toEqual([
    {
      name: 'signalbox.retry',
      attributes: { 'signalbox.attempt': 1, 'error.type': 'model_error', 'signalbox.wait_ms': expect.any(Number) },
    },
  ]);
  const mcp = named(spans, 'tools/call add').attributes;
  expect(mcp).toMatchObject({ 'network.transport': 'pipe', 'signalbox.tool.server': 'pipe' });
  expect(mcp['mcp.session.id']).toBeUndefined();
});

const callTool = (name: string, headers: Record<string, string>, origin = url) =>
  post(origin, '/api/tools/call', { name, arguments: { query: canaries.argument }, session_id: 'traced' }, headers);

verifies('operations.traces', 'a tool that fails; a cached result', async () => {
  const failing = callerTrace();
  await callTool('fails', failing.headers);
  const failed = await collector.trace(failing.traceId, 5);
  expect(drawn(failed, failing.spanId)).toEqual([
    'gateway server POST /api/tools/call',
    '  gateway internal execute_tool fails !',
    '    gateway producer send tools',
    '      worker consumer process tools !',
    '        worker client tools/call fails !',
  ]);
  expect(named(failed, 'execute_tool fails').attributes).toMatchObject({
    'error.type': 'tool_failed',
    'signalbox.tool.state': 'failed',
  });
  expect(named(failed, 'tools/call fails').attributes['error.type']).toBe('tool_error');

  await callTool('kept', callerTrace().headers);
  const again = callerTrace();
  await callTool('kept', again.headers);
  const kept = await collector.trace(again.traceId, 2);
  expect(drawn(kept, again.spanId)).toEqual([
    'gateway server POST /api/tools/call',
    '  gateway internal execute_tool kept',
  ]);
  expect(named(kept, 'execute_tool kept').attributes['signalbox.tool.cached']).toBe(true);
});

verifies('operations.traces', 'a call of an MCP client, below the span that it names', async () => {
  const { traceId, spanId, headers } = callerTrace();
  await withClients(url, ['the 2.x client, 2026-07-28'], async (client) => {
    await client.call({ name: 'look', arguments: {}, _meta: headers });
  });
  const spans = await collector.trace(traceId, 5);
  expect(drawn(spans, spanId)).toEqual([
    'gateway server tools/call look',
    '  gateway internal execute_tool look',
    '    gateway producer send tools',
    '      worker consumer process tools',
    '        worker client tools/call look',
  ]);
  const call = spans.find(({ kind }) => kind === 'server')!;
  expect(call.attributes).toMatchObject({ 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'look' });
  // The request that carried it has a trace of its own.
  const [link] = call.links;
  const [request] = await collector.trace(link!.traceId, 1);
  expect(request).toMatchObject({ name: 'POST /mcp', spanId: link!.spanId });
  expect(told.at(-1)!['traceparent']).toBe(traceparentOf(spans.find(({ kind }) => kind === 'client')!));
});

verifies('operations.traces', 'what a caller does not sample is passed on, and not sent', async () => {
  const { traceId, spanId, headers } = callerTrace('00');
  await post(url, '/v1/chat/completions', chat('call look', offer('web')), headers);
  const passed = [box.upstream.requests.at(-1)!.headers['traceparent'], told.at(-1)!['traceparent']];
  for (const traceparent of passed) expect(traceparent).toMatch(new RegExp(`^00-${traceId}-(?!${spanId}).{16}-00$`));
  await fetch(`${url}/health/ready`);
  await fetch(`${url}/metrics`);
  const after = callerTrace();
  await callTool('kept', after.headers);
  await collector.trace(after.traceId, 2);
  expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
  expect(collector.spans.filter(({ name }) => /health|metrics/.test(name))).toEqual([]);
});

verifies(
  'operations.traces-content',
  'nothing of requests, arguments, results, answers and secrets is exported',
  () => {
    const bytes = collector.received.map(({ body }) => body).join('\n');
    expect(bytes).toContain('invoke_agent signalbox');
    expect(Object.values(canaries).filter((canary) => bytes.includes(canary))).toEqual([]);
    for (const { headers } of collector.received) expect(headers['x-key']).toBe(canaries.collector);
    const logs = JSON.stringify([...box.gateways, ...box.workers].map(({ log }) => log));
    expect(logs).not.toContain(canaries.collector);
  },
);

verifies('operations.traces-off', 'a traceparent goes through unchanged, no SDK is loaded', async () => {
  const { headers } = callerTrace();
  await post(plain.url, '/v1/chat/completions', chat('hello'), headers);
  expect(box.upstream.requests.at(-1)!.headers['traceparent']).toBe(headers.traceparent);
  expect(await plain.stop()).toBe(0);
  const files = await readdir(coverage.path);
  const texts = await Promise.all(files.map((file) => readFile(join(coverage.path, file), 'utf8')));
  const loaded = texts.flatMap((each) => (JSON.parse(each) as { result: { url: string }[] }).result);
  // prom-client loads the API, which does nothing by itself.
  const traced = loaded.map(({ url }) => url).filter((url) => /opentelemetry\/(?!api\/)|libs\/tracing/.test(url));
  expect(new Set(traced.map((url) => url.replace(/^.*\/dist\//, '')))).toEqual(
    new Set(['libs/tracing/tracing.js', 'libs/tracing/spans.js']),
  );
});

verifies('operations.traces-collector', 'one that hangs: requests and the stop go on', async () => {
  expect((await post(stuck.url, '/v1/chat/completions', chat('hello'))).status).toBe(200);
  await stuck.logged(({ message }) => message === 'traces could not be exported');
  const dropped = 'signalbox_trace_spans_dropped_total{reason="export_failed"}';
  expect(await metricOf(stuck.url, dropped)).toBeGreaterThanOrEqual(3);
  expect((await post(stuck.url, '/v1/chat/completions', chat('hello'))).status).toBe(200);
  // Past its grace time it would be 1.
  expect(await stuck.stop()).toBe(0);
});
