// A tool server over HTTP that counts its calls, in the process of the test.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '#libs/schemas/json.js';

export interface CountingServer {
  url: string;
  /** The arguments of each call. */
  calls: JsonObject[];
  close(): Promise<void>;
}

const shop = { charge: 'Does charge', refund: 'Does refund', lookup: 'Does lookup', hidden: 'Does hidden' };

const toolOf = ([name, description]: [string, string]) => ({
  name,
  description,
  inputSchema: { type: 'object', properties: { amount: { type: 'number' } } },
});

/** `offered`: descriptions by name. Each tool answers with its name, its amount and the number of the call. */
export async function startCountingServer(offered: Record<string, string> = shop): Promise<CountingServer> {
  const tools = Object.entries(offered).map(toolOf);
  const calls: JsonObject[] = [];
  const results: Record<string, (params: JsonObject) => JsonObject> = {
    initialize: ({ protocolVersion }) => ({
      protocolVersion: protocolVersion ?? '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'counting', version: '1.0.0' },
    }),
    ping: () => ({}),
    'tools/list': () => ({ tools }),
    'tools/call': ({ name, arguments: given }) => {
      const { amount = null } = given as JsonObject;
      calls.push({ name: name!, amount });
      return { content: [{ type: 'text', text: `${name as string} ${JSON.stringify(amount)}: call ${calls.length}` }] };
    },
  };
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      if (request.method !== 'POST') return response.writeHead(405).end();
      const { id, method, params } = JSON.parse(text) as { id?: number; method: string; params?: JsonObject };
      if (id === undefined) return response.writeHead(202).end();
      const result = results[method]?.(params ?? {});
      const outcome = result === undefined ? { error: { code: -32_601, message: 'no such method' } } : { result };
      response.writeHead(200, { 'content-type': 'application/json' });
      return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    calls,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
