// The official MCP clients behind one interface: 2.x with both ways of connecting, and 1.x, which is still in use.
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

export interface CallResult {
  content?: unknown;
  structuredContent?: unknown;
  isError?: boolean | undefined;
  _meta?: Record<string, unknown> | undefined;
}

export interface CallOptions {
  onprogress?: (progress: { progress: number; total?: number | undefined; message?: string | undefined }) => void;
  signal?: AbortSignal;
}

export interface McpCaller {
  /** Only for clients that have one. */
  sessionId: string | undefined;
  listTools(): Promise<{ name: string; inputSchema: object; annotations?: object | undefined }[]>;
  call(params: { name: string; arguments?: object; _meta?: object }, options?: CallOptions): Promise<CallResult>;
  request(method: string, params: object): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

export const bridge = fileURLToPath(new URL('../../dist/scripts/mcp-stdio.js', import.meta.url));
const identity = { name: 'judge', version: '1' };

/** Keeps a query. */
export function addressOf(url: string, path: '/mcp' | '/sse'): URL {
  const { origin, search } = new URL(url);
  return new URL(`${origin}${path}${search}`);
}

/** A silent fallback to the older era would prove nothing about the newer one. */
function expectEra(client: Client, mode: 'auto' | 'legacy'): void {
  const era = client.getProtocolEra();
  if (era !== (mode === 'auto' ? 'modern' : 'legacy')) throw new Error(`The client speaks as ${String(era)}`);
}

async function newClient(url: string, mode: 'auto' | 'legacy', onToolsChanged: () => void): Promise<McpCaller> {
  const client = new Client(identity, {
    versionNegotiation: { mode },
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onToolsChanged } },
  });
  const transport = new StreamableHTTPClientTransport(addressOf(url, '/mcp'));
  await client.connect(transport);
  expectEra(client, mode);
  return {
    sessionId: transport.sessionId,
    listTools: async () => (await client.listTools()).tools,
    call: (params, options) => client.callTool(params as never, options),
    request: (method, params) => client.request({ method, params: { ...params } }, z.looseObject({})),
    close: () => client.close(),
  };
}

/** Connects through the bridge, as `npm run mcp:stdio` starts it. */
export async function stdioClient(address: string, mode: 'auto' | 'legacy'): Promise<Client> {
  const client = new Client(identity, { versionNegotiation: { mode } });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [bridge, address], cwd: tmpdir() }));
  expectEra(client, mode);
  return client;
}

async function oldClient(url: string, kind: 'http' | 'sse', onToolsChanged: () => void): Promise<McpCaller> {
  const client = new OldClient(identity, {
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onToolsChanged } },
  });
  const transport =
    kind === 'sse' ? new SSEClientTransport(addressOf(url, '/sse')) : new OldTransport(addressOf(url, '/mcp'));
  await client.connect(transport);
  return {
    sessionId: transport instanceof OldTransport ? transport.sessionId : undefined,
    listTools: async () => (await client.listTools()).tools,
    call: (params, options) => client.callTool(params as never, CallToolResultSchema, options),
    request: (method, params) => client.request({ method, params: { ...params } }, ResultSchema),
    close: async () => {
      if (transport instanceof OldTransport) await transport.terminateSession();
      await client.close();
    },
  };
}

/** An SDK 1.x client that reads its stream late and in one piece, like a process that was blocked. */
export async function lateSseClient(url: string, lateMs: number): Promise<OldClient> {
  const client = new OldClient(identity);
  const late = async (address: string | URL, init?: RequestInit) => {
    const { body, status, headers } = await fetch(address, init);
    let held: Uint8Array[] = [];
    const hold = new TransformStream<Uint8Array, Uint8Array>({
      transform: (piece, reader) => {
        held.push(piece);
        if (held.length > 1) return;
        setTimeout(() => {
          reader.enqueue(Buffer.concat(held));
          held = [];
        }, lateMs);
      },
    });
    return new Response(body?.pipeThrough(hold), { status, headers });
  };
  await client.connect(new SSEClientTransport(new URL(`${url}/sse`), { eventSourceInit: { fetch: late } }));
  return client;
}

export const mcpClients = {
  'the 2.x client, 2026-07-28': (url: string, onToolsChanged: () => void = () => undefined) =>
    newClient(url, 'auto', onToolsChanged),
  'the 2.x client, as before 2026': (url: string, onToolsChanged: () => void = () => undefined) =>
    newClient(url, 'legacy', onToolsChanged),
  'the 1.x client': (url: string, onToolsChanged: () => void = () => undefined) =>
    oldClient(url, 'http', onToolsChanged),
  'the 1.x client, HTTP+SSE': (url: string, onToolsChanged: () => void = () => undefined) =>
    oldClient(url, 'sse', onToolsChanged),
};

/** Connects them in order, and closes them even if the body fails. */
export async function withClients(
  url: string,
  names: readonly (keyof typeof mcpClients)[],
  body: (...clients: McpCaller[]) => Promise<void>,
): Promise<void> {
  const clients: McpCaller[] = [];
  try {
    for (const name of names) clients.push(await mcpClients[name](url));
    await body(...clients);
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}
