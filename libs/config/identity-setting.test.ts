// `identity` of a tool server: to which servers a statement about the caller may be sent, and where in the request.
import { expect, test } from 'vitest';
import { ConfigError } from './config-error.js';
import { readConfig } from './read-config.js';

const url = 'https://example.com/mcp';
const read = (server: object) => readConfig({ environment: { MCP_SERVERS: JSON.stringify({ crm: server }) } });

test('of a server with a url, in a header that is free', () => {
  const named = { kind: 'jwt', header: 'X-Caller', audience: 'crm' };
  for (const identity of ['jwt', { kind: 'jwt' }, named]) {
    expect(read({ url, identity }).mcpServers['crm']!.identity).toEqual(identity);
  }
  for (const [server, problem] of [
    [{ command: 'node', identity: 'jwt' }, 'has identity but no url'],
    [{ url, identity: { kind: 'jwt', header: 'Host' } }, "cannot send the identity in the header 'Host'"],
    [{ url, identity: { kind: 'jwt', header: 'a b' } }, "cannot send the identity in the header 'a b'"],
    [{ url, identity: 'saml' }, 'it must be jwt'],
  ] as const) {
    expect(() => read(server)).toThrow(ConfigError);
    expect(() => read(server)).toThrow(problem);
  }
});
