// A tool server of the doctor's own, on the loopback interface: an MCP server of both eras, and an API beside it. It keeps what one
// call brought with it, and takes everybody.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';

export interface ArrivedCall {
  headers: IncomingHttpHeaders;
  /** Absent if the call is a request of an API, which has none. */
  meta?: JsonObject;
}

export interface Echo {
  mcpUrl: string;
  apiUrl: string;
  arrived: () => ArrivedCall | undefined;
  close(): Promise<void>;
}

export const echoTool = 'echo';

export async function openEcho(): Promise<Echo> {
  let arrived: ArrivedCall | undefined;
  const handler = createMcpHandler(() => {
    const server = new Server({ name: 'signalbox-doctor', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({ tools: [{ name: echoTool, inputSchema: { type: 'object' } }] }));
    server.setRequestHandler('tools/call', () => ({ content: [{ type: 'text', text: 'heard' }] }));
    return server;
  });

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { headers, method = 'GET', url = '' } = request;
    if (url !== '/mcp') {
      arrived = { headers };
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      return;
    }
    const body = method === 'POST' ? await text(request) : undefined;
    const message: unknown = body === undefined ? undefined : JSON.parse(body);
    if (isJsonObject(message) && message['method'] === 'tools/call') {
      const { params } = message;
      const meta = isJsonObject(params) ? params['_meta'] : undefined;
      arrived = { headers, meta: isJsonObject(meta) ? meta : {} };
    }
    const given = { method, headers: headers as Record<string, string>, ...(body === undefined ? {} : { body }) };
    const answer = await handler.fetch(new Request(`http://localhost${url}`, given));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const part of (answer.body ?? []) as AsyncIterable<Uint8Array>) response.write(part);
    response.end();
  };

  const http = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return {
    mcpUrl: `${origin}/mcp`,
    apiUrl: `${origin}/api`,
    arrived: () => arrived,
    close: async () => {
      await handler.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
