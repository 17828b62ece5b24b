// A tool server that takes any token, and the issuer that renews tokens for it, in one process. Counts the renewals. Says where it listens, and
// ends with its parent.
import type { AddressInfo } from 'node:net';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { httpServerOf } from '../test/support/serve-sdk-server.js';

let renewals = 0;
const tools = [{ name: 'whoami', inputSchema: { type: 'object' as const }, annotations: { readOnlyHint: true } }];
const handler = createMcpHandler(() => {
  const server = new Server({ name: 'signed-in', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({ tools }));
  server.setRequestHandler('tools/call', () => ({ content: [{ type: 'text', text: 'somebody' }] }));
  return server;
});
const issuer = {
  ...handler,
  fetch: async () => {
    renewals += 1;
    return Response.json({
      access_token: `access-${renewals}`,
      refresh_token: `refresh-${renewals}`,
      token_type: 'Bearer',
      expires_in: 3_600,
    });
  },
};

const http = httpServerOf((path) => (path === '/token' ? issuer : handler));
http.keepAliveTimeout = 60_000;
http.listen(0, '127.0.0.1', () => process.send!({ port: (http.address() as AddressInfo).port }));
process.on('message', () => process.send!({ renewals }));
process.once('disconnect', () => process.exit(0));
