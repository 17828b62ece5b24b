// A Signalbox whose gateway and worker send traces to a collector of the test, beside one gateway that does not trace and one
// whose collector never answers. What callers, models and tools say contains canaries.
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, vi } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ReceivedRequest, ScriptedAnswer } from './scripted-upstream.js';
import { type StartedProcess, temporaryDirectory } from './services/start-process.js';
import { type Signalbox, startSignalbox, toolsReady } from './services/start-signalbox.js';
import { type CollectedSpan, startTraceCollector, type TraceCollector } from './trace-collector.js';
import { messagesOf } from './scripts.js';
import { fixture } from './tool-servers.js';
import { offeredTools } from './tools-client.js';

export const canaries = {
  prompt: 'canary-prompt-1',
  argument: 'canary-argument-2',
  result: 'canary-result-3',
  answer: 'canary-answer-4',
  provider: 'canary-provider-5',
  collector: 'canary-collector-6',
  upstreamError: 'canary-error-7',
};

export interface TracedSignalbox {
  box: Signalbox;
  /** Of the gateway that traces. */
  url: string;
  collector: TraceCollector;
  /** Without an endpoint. */
  plain: StartedProcess;
  /** With one that never answers. */
  stuck: StartedProcess;
  /** `_meta` of the calls that the tool server `web` got. */
  reported: Record<string, unknown>[];
  /** The URLs of what `plain` loaded, once it has ended. */
  loadedByPlain(): Promise<string[]>;
  close(): Promise<void>;
}

export async function startTracedSignalbox(): Promise<TracedSignalbox> {
  const reported: Record<string, unknown>[] = [];
  const [collector, hanging, coverage, web] = await Promise.all([
    startTraceCollector(),
    startTraceCollector({ hangs: true }),
    temporaryDirectory(),
    startWebServer(reported),
  ]);
  const box = await startSignalbox({
    script,
    gateways: 0,
    workers: 0,
    environment: {
      MCP_SERVERS: JSON.stringify({
        web: { url: web.url, tools: { cache_ttl_ms: { kept: 60_000 } } },
        pipe: { command: 'node', args: [fixture('new-sdk')] },
      }),
    },
  });
  const close = async () => {
    await box.close();
    await Promise.all([web.close(), collector.close(), hanging.close(), coverage.remove()]);
  };
  const provider = { kind: 'openai', base_url: box.upstream.baseUrl, api_key: canaries.provider, max_retries: 1 };
  const traced = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: `x-key=${canaries.collector}`,
  };
  const models = {
    MODELS_PROVIDERS: JSON.stringify({ scripted: provider }),
    MODELS_ALIASES: JSON.stringify({ best: ['scripted/broken', 'scripted/model'] }),
  };
  try {
    const starting = [
      box.startGateway({ ...traced, ...models }),
      box.startGateway({ NODE_V8_COVERAGE: coverage.path }),
      box.startGateway({ OTEL_EXPORTER_OTLP_ENDPOINT: hanging.endpoint }),
      box.startWorker(traced),
    ] as const;
    await Promise.allSettled(starting);
    const [{ url }, plain, stuck] = await Promise.all(starting);
    await Promise.all([url, plain.url, stuck.url].map(toolsReady));
    const offered = async () => [...(await offeredTools(url)).keys()];
    await vi.waitFor(async () => expect(await offered()).toEqual(expect.arrayContaining(['look', 'add'])), {
      timeout: 25_000,
      interval: 100,
    });
    return { box, url, collector, plain, stuck, reported, loadedByPlain: () => loaded(coverage.path), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The model `broken` fails; others call what the last user message says, then answer. */
function script(request: ReceivedRequest): ScriptedAnswer {
  if (request.body['model'] === 'broken') return { status: 500, json: { error: { message: canaries.upstreamError } } };
  const last = messagesOf(request).at(-1)!;
  const [, name] = /call (\w+)/.exec(last['content'] as string) ?? [];
  const args: JsonObject = name === 'add' ? { a: 1, b: 2 } : { query: canaries.argument };
  if (last['role'] === 'user' && name !== undefined) return { toolCalls: [{ name, arguments: args }] };
  return { text: [canaries.answer, ' at last'], model: 'scripted-2026' };
}

/** An MCP server over HTTP, of an older era, with sessions. */
async function startWebServer(reported: Record<string, unknown>[]) {
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    void answerOf(request, reported).then((answer) => {
      if (answer === undefined) return response.writeHead(202).end();
      const headers = { 'content-type': 'application/json', 'mcp-session-id': 'session-of-web' };
      return response.writeHead(200, headers).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answerOf(request: IncomingMessage, reported: Record<string, unknown>[]): Promise<object | undefined> {
  const { id, method, params } = JSON.parse(await text(request)) as {
    id?: number;
    method?: string;
    params?: { name?: string; _meta?: Record<string, unknown> };
  };
  if (id === undefined) return undefined;
  if (method === 'tools/call') reported.push(params!._meta!);
  const schema = { inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } };
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'web', version: '1' },
    },
    'tools/list': { tools: ['look', 'kept', 'fails'].map((name) => ({ name, ...schema })) },
    'tools/call': { content: [{ type: 'text', text: canaries.result }], isError: params?.name === 'fails' },
  };
  const result = results[method ?? ''];
  return { jsonrpc: '2.0', id, ...(result === undefined ? { error: { code: -32_601, message: 'none' } } : { result }) };
}

async function loaded(coverageDirectory: string): Promise<string[]> {
  const files = await readdir(coverageDirectory);
  const texts = await Promise.all(files.map((file) => readFile(join(coverageDirectory, file), 'utf8')));
  return texts
    .flatMap((each) => (JSON.parse(each) as { result: { url: string }[] }).result)
    .map((script) => script.url);
}

let calls = 0;
/** A trace of the caller's. */
export function callerTrace(flags = '01') {
  calls += 1;
  const traceId = calls.toString(16).padStart(32, 'c');
  const spanId = calls.toString(16).padStart(16, 'e');
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-${flags}` } };
}

/** As a drawn tree: service, kind and name of each span below its parent, in the order in which they began. */
export function drawn(spans: readonly CollectedSpan[], parent: string | undefined, depth = 0): string[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .flatMap((span) => [
      `${'  '.repeat(depth)}${span.service.slice('signalbox-'.length)} ${span.kind} ${span.name}${span.failed ? ' !' : ''}`,
      ...drawn(spans, span.spanId, depth + 1),
    ]);
}
export const named = (spans: readonly CollectedSpan[], name: string) => {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`no span ${name}`);
  return found;
};
export const traceparentOf = ({ traceId, spanId }: CollectedSpan) => `00-${traceId}-${spanId}-01`;
