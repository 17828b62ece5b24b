import { expect, test } from 'vitest';
import { readConfig } from './read-config.js';

const read = (network: string, server = 'command: x') =>
  readConfig({
    environment: { HOST_NAME: 'db.internal' },
    file: { path: 'signalbox.yaml', text: `mcpServers: { a: { ${server}, network: ${network} } }` },
  }).mcpServers['a']!.network;
const problem = (network: string, server?: string): string => {
  try {
    read(network, server);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

test('none, full, or a list of hosts', () => {
  expect(read('none')).toBe('none');
  expect(read('full')).toBe('full');
  expect(
    read('{ allow: [api.github.com, "*.npmjs.org:443", "10.0.0.5:5432", "fd00::1", "${HOST_NAME}:5432"] }'),
  ).toEqual({
    allow: ['api.github.com', '*.npmjs.org:443', '10.0.0.5:5432', 'fd00::1', 'db.internal:5432'],
  });
});

test('what is no host is named', () => {
  const bad = problem('{ allow: [api.github.com, "https://a.example/"] }');
  expect(bad).toContain('mcpServers.a.network.allow.1: is not valid: it must be a name such as');
  expect(bad).toContain('got "https://a.example/" (signalbox.yaml:1)');
  expect(problem('lan')).toContain(
    'mcpServers.a.network: is not valid: it must be none, full, or allow with a list of hosts, got "lan"',
  );
  expect(problem('{ alow: [a.example] }')).toContain('mcpServers.a.network');
  expect(problem('{ allow: [] }')).toContain('mcpServers.a.network');
  expect(problem('{ allow: [a.example] }', 'url: "http://h/"')).toContain('has network.allow but no command');
});
