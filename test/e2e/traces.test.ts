// Traces span by span, through gateway, queue and worker, as a collector gets them.
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect } from 'vitest';
import { withClients } from '../support/mcp-clients.js';
import { post } from '../support/scripts.js';
import { metricOf } from '../support/tools-client.js';
import {
  callerTrace,
  canaries,
  drawn,
  named,
  startTracedSignalbox,
  traceparentOf,
  type TracedSignalbox,
} from '../support/traced-signalbox.js';
import { verifies } from '../verifies.js';

let stack: TracedSignalbox;
beforeAll(async () => {
  stack = await startTracedSignalbox();
});
afterAll(() => stack?.close());

const chat = (content: string, more: object = {}) => ({
  model: 'scripted/model',
  messages: [{ role: 'user', content: `${canaries.prompt}: ${content}` }],
  ...more,
});
const offer = (server: string) => ({ tools: [{ type: 'mcp', server_label: server }] });

verifies('operations.traces', 'a streamed chat with a tool over HTTP', async () => {
  const { traceId, spanId, headers } = callerTrace();
  const asked = stack.box.upstream.requests.length;
  const body = chat('call look', { ...offer('web'), stream: true, session_id: 'traced' });
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-request-id': 'traced-request', ...headers },
    body: JSON.stringify(body),
  });
  expect(await answer.text()).toContain(canaries.answer);
  const spans = await stack.collector.trace(traceId, 8);
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
  const asks = stack.box.upstream.requests.slice(asked);
  const models = spans.filter(({ name }) => name === 'chat model');
  expect(new Set(asks.map(({ headers }) => headers['traceparent']))).toEqual(new Set(models.map(traceparentOf)));
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
  expect(stack.reported.at(-1)!['traceparent']).toBe(traceparentOf(mcp));
  const rows = await stack.box.rows('select trace_id from audit_events where call_id = $1', [callId]);
  expect(rows).toEqual([{ trace_id: traceId }]);
});

verifies('operations.traces', 'a chat that begins its trace: retry, fallback, a tool over a pipe', async () => {
  const asked = stack.box.upstream.requests.length;
  const { status } = await post(
    stack.url,
    '/v1/chat/completions',
    chat('call add', { model: 'best', ...offer('pipe') }),
  );
  expect(status).toBe(200);
  const last = stack.box.upstream.requests.at(-1)!.headers['traceparent'] as string;
  const traceId = last.split('-')[1]!;
  expect(stack.box.upstream.requests.length - asked).toBe(6);
  const spans = await stack.collector.trace(traceId, 10);
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

const callTool = (name: string, headers: Record<string, string>, origin = stack.url) =>
  post(origin, '/api/tools/call', { name, arguments: { query: canaries.argument }, session_id: 'traced' }, headers);

verifies('operations.traces', 'a tool that fails; a cached result', async () => {
  const failing = callerTrace();
  await callTool('fails', failing.headers);
  const failed = await stack.collector.trace(failing.traceId, 5);
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
  const kept = await stack.collector.trace(again.traceId, 2);
  expect(drawn(kept, again.spanId)).toEqual([
    'gateway server POST /api/tools/call',
    '  gateway internal execute_tool kept',
  ]);
  expect(named(kept, 'execute_tool kept').attributes['signalbox.tool.cached']).toBe(true);
});

verifies('operations.traces', 'a call of an MCP client, below the span that it names', async () => {
  const { traceId, spanId, headers } = callerTrace();
  await withClients(stack.url, ['the 2.x client, 2026-07-28'], async (client) => {
    await client.call({ name: 'look', arguments: {}, _meta: headers });
  });
  const spans = await stack.collector.trace(traceId, 5);
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
  const [request] = await stack.collector.trace(link!.traceId, 1);
  expect(request).toMatchObject({ name: 'POST /mcp', spanId: link!.spanId });
  expect(stack.reported.at(-1)!['traceparent']).toBe(traceparentOf(spans.find(({ kind }) => kind === 'client')!));
});

verifies('operations.traces', 'what a caller does not sample is passed on, and not sent', async () => {
  const { traceId, spanId, headers } = callerTrace('00');
  await post(stack.url, '/v1/chat/completions', chat('call look', offer('web')), headers);
  const passed = [stack.box.upstream.requests.at(-1)!.headers['traceparent'], stack.reported.at(-1)!['traceparent']];
  for (const traceparent of passed) expect(traceparent).toMatch(new RegExp(`^00-${traceId}-(?!${spanId}).{16}-00$`));
  await fetch(`${stack.url}/health/ready`);
  await fetch(`${stack.url}/metrics`);
  const after = callerTrace();
  await callTool('kept', after.headers);
  await stack.collector.trace(after.traceId, 2);
  expect(stack.collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
  expect(stack.collector.spans.filter(({ name }) => /health|metrics/.test(name))).toEqual([]);
});

verifies('operations.traces', 'latencies name traces', async () => {
  const answer = await fetch(`${stack.url}/metrics`);
  expect(answer.headers.get('content-type')).toContain('application/openmetrics-text');
  const metrics = await answer.text();
  expect(metrics.endsWith('# EOF\n')).toBe(true);
  expect(metrics).toMatch(/^signalbox_chat_requests_total\{.*outcome="ok"\} \d+$/m);
  const traces = new Set(stack.collector.spans.map(({ traceId }) => traceId));
  const names = [
    'chat_duration',
    'chat_time_to_first_token',
    'model_call_duration',
    'tool_duration',
    'tool_queue_wait',
  ];
  for (const name of names) {
    const pattern = `^signalbox_${name}_seconds_bucket\\{.*\\} \\d+ # \\{trace_id="(.{32})"\\} [\\d.e-]+ [\\d.]+$`;
    const reported = [...metrics.matchAll(new RegExp(pattern, 'gm'))].map(([, traceId]) => traceId!);
    expect(reported.length, name).toBeGreaterThan(0);
    expect(
      reported.filter((traceId) => !traces.has(traceId)),
      name,
    ).toEqual([]);
  }
});

verifies(
  'operations.traces-content',
  'nothing of requests, arguments, results, answers and secrets is exported',
  () => {
    const bytes = stack.collector.received.map(({ body }) => body).join('\n');
    expect(bytes).toContain('invoke_agent signalbox');
    expect(Object.values(canaries).filter((canary) => bytes.includes(canary))).toEqual([]);
    for (const { headers } of stack.collector.received) expect(headers['x-key']).toBe(canaries.collector);
    const logs = JSON.stringify([...stack.box.gateways, ...stack.box.workers].map(({ log }) => log));
    expect(logs).not.toContain(canaries.collector);
  },
);

verifies('operations.traces-off', 'a traceparent goes through unchanged, no SDK is loaded', async () => {
  const { headers } = callerTrace();
  await post(stack.plain.url, '/v1/chat/completions', chat('hello'), headers);
  expect(stack.box.upstream.requests.at(-1)!.headers['traceparent']).toBe(headers.traceparent);
  expect((await fetch(`${stack.plain.url}/metrics`)).headers.get('content-type')).toContain('text/plain');
  expect(await stack.plain.stop()).toBe(0);
  // prom-client loads the API, which does nothing by itself.
  const sdk = /\/libs\/tracing\/open-tracing\.js|opentelemetry\/(?!api\/)/;
  expect(existsSync('dist/libs/tracing/open-tracing.js')).toBe(true);
  expect((await stack.loadedByPlain()).filter((path) => sdk.test(path))).toEqual([]);
});

verifies('operations.traces-collector', 'one that hangs: requests and the stop go on', async () => {
  expect((await post(stack.stuck.url, '/v1/chat/completions', chat('hello'))).status).toBe(200);
  await stack.stuck.logged(({ message }) => message === 'traces could not be exported');
  const dropped = 'signalbox_trace_spans_dropped_total{reason="export_failed"}';
  expect(await metricOf(stack.stuck.url, dropped)).toBeGreaterThanOrEqual(1);
  expect((await post(stack.stuck.url, '/v1/chat/completions', chat('hello'))).status).toBe(200);
  // Past its grace time it would be 1.
  expect(await stack.stuck.stop()).toBe(0);
});
