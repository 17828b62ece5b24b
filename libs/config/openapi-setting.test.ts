// `openapi` of a tool server: with which other settings it goes together.
import { expect } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { ConfigError } from './config-error.js';
import { readConfig } from './read-config.js';
import { secretValues } from './secrets.js';
import { serverAddress } from './servers/server-address.js';

const read = (server: object) => readConfig({ environment: { MCP_SERVERS: JSON.stringify({ crm: server }) } });
const openapi = './crm.yaml';
const base_url = 'https://api.example.com';

verifies('openapi.checked', 'settings that go together, and those that do not', () => {
  const whole = { openapi, base_url, operations: ['crm'], auth: { kind: 'oauth' }, forward_headers: ['x-tenant'] };
  expect(read(whole).mcpServers['crm']).toMatchObject(whole);
  for (const [server, problem] of [
    [{ openapi, url: base_url }, 'it has url and openapi'],
    [{ url: base_url, base_url }, 'has base_url but no openapi'],
    [{ url: base_url, operations: ['crm'] }, 'has operations but no openapi'],
    [{ openapi, operations: [] }, 'has operations without any'],
    [{ openapi, auth: { kind: 'oauth' } }, 'has auth but no base_url'],
    [{ openapi, identity: 'jwt' }, 'has identity but no base_url'],
    [{ openapi, transport: 'http' }, 'has a transport but no url'],
    [{ openapi, act_for_caller: true }, 'has act_for_caller but is an API'],
    [{ openapi, base_url, auth: { kind: 'headers', names: ['X-Key'] }, headers: { 'x-key': 'k' } }, 'twice'],
  ] as const) {
    expect(() => read(server)).toThrow(ConfigError);
    expect(() => read(server)).toThrow(problem);
  }
});

verifies('openapi.secrets', 'a key in the query of base_url is not printed, and not in the file', () => {
  const text = `mcpServers: { crm: { openapi: ./crm.yaml, base_url: "${base_url}?api_key=\${KEY}" } }`;
  const config = readConfig({ environment: { KEY: 'canary-query-key' }, file: { path: 'signalbox.yaml', text } });
  expect(config.mcpServers['crm']!.base_url).toContain('canary-query-key');
  expect(JSON.stringify(config)).not.toContain('canary');
  expect(secretValues(config)).toContain('canary-query-key');
  expect(serverAddress(config.mcpServers['crm']!)).toBe(base_url);
  const literal = text.replace('${KEY}', 'canary-query-key');
  expect(() => readConfig({ environment: {}, file: { path: 'signalbox.yaml', text: literal } })).toThrow(ConfigError);
});
