// A decorated server with a real MCP client connected to it in memory, for tests of tools as callers meet them.
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { silentLogger } from '#libs/logging/logger.js';
import { toCallMeta, type CallMeta } from '#libs/mcp-server/call-meta.js';
import { createMcpServer } from '#libs/mcp-server/create-mcp-server.js';
import type { ToolServer, ToolServerOptions } from '#libs/mcp-server/tool-server.js';

export interface TestServer {
  server: ToolServer;
  client: Client;
  call(name: string, args?: Record<string, unknown>, options?: TestCallOptions): Promise<CallToolResult>;
  close(): Promise<void>;
}

export interface TestCallOptions {
  signal?: AbortSignal;
  onProgress?: (progress: { progress: number; total?: number; message?: string }) => void;
}

/** `meta`: the context that the worker would send with every call. */
export async function createTestServer(
  instances: object | readonly object[],
  options: Partial<ToolServerOptions> & { meta?: CallMeta } = {},
): Promise<TestServer> {
  const server = createMcpServer(instances, { logger: silentLogger, ...options });
  const client = new Client({ name: 'test', version: '1.0.0' });
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  await server.connect(serverSide);
  await client.connect(clientSide);
  const meta = options.meta === undefined ? {} : { _meta: toCallMeta(options.meta) };
  return {
    server,
    client,
    call: (name, args = {}, { signal, onProgress } = {}) =>
      client.callTool(
        { name, arguments: args, ...meta },
        {
          ...(signal === undefined ? {} : { signal }),
          ...(onProgress === undefined ? {} : { onprogress: onProgress }),
        },
      ),
    close: async () => {
      await client.close();
      await server.close();
    },
  };
}
