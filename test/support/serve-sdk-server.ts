// Serves a server of the official SDK over HTTP, in the process of the test: both eras, without sessions.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { createMcpHandler, type McpHttpHandler, type McpServer } from '@modelcontextprotocol/server';

export interface ServedSdkServer {
  url: string;
  handler: McpHttpHandler;
  close(): Promise<void>;
}

/** A `node:http` server that answers by the handler for the path of each request. */
export function httpServerOf(handlerOf: (path: string) => McpHttpHandler): Server {
  return createServer((request, response) => {
    const body = request.method === 'POST' ? { body: Readable.toWeb(request), duplex: 'half' } : {};
    const left = new AbortController();
    response.on('close', () => left.abort());
    const init = { method: request.method, headers: request.headers, signal: left.signal, ...body };
    const asked = new Request(`http://localhost${request.url}`, init as unknown as RequestInit);
    handlerOf(request.url!)
      .fetch(asked)
      .then(
        ({ status, headers, body: answer }) => {
          response.writeHead(status, Object.fromEntries(headers));
          if (answer === null) response.end();
          else {
            Readable.fromWeb(answer as never)
              .on('error', () => response.destroy())
              .pipe(response);
          }
        },
        () => response.destroy(),
      );
  });
}

export async function serveSdkServer(newServer: () => McpServer): Promise<ServedSdkServer> {
  const handler = createMcpHandler(newServer);
  const http = httpServerOf(() => handler);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    handler,
    close: async () => {
      await handler.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
