import { expect } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { ConfigError } from './config-error.js';
import { readConfig } from './read-config.js';

const read = (toolsets: unknown, more: object = {}) =>
  readConfig({ environment: {}, file: { path: 'signalbox.yaml', text: JSON.stringify({ toolsets, ...more }) } });

function problemOf(toolsets: unknown, more?: object): string {
  try {
    read(toolsets, more);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return '';
}

verifies('toolsets.configured', 'globs, exceptions, and tools with names of their own', () => {
  const toolsets = {
    review: ['hub/*', '!hub/delete_*', { tool: 'many/list', name: 'invoices', description: '发票' }, { tool: 'a/b' }],
  };
  expect(read(toolsets).toolsets).toEqual(toolsets);
  expect(read(undefined).toolsets).toEqual({});
});

const wrong: [name: string, toolsets: unknown, says: string][] = [
  ['no set name', { 'a/b': ['hub/*'] }, 'toolsets'],
  ['a Chinese set name', { 审查: ['hub/*'] }, 'toolsets'],
  ['nothing in it', { review: [] }, 'toolsets.review'],
  ['no list', { review: 'hub/*' }, 'toolsets.review'],
  ['no server', { review: ['delete_*'] }, 'toolsets.review'],
  ['only an exclamation mark', { review: ['!'] }, 'toolsets.review'],
  ['a renamed glob', { review: [{ tool: 'hub/*', name: 'all' }] }, 'toolsets.review'],
  ['a name that models do not take', { review: [{ tool: 'hub/a', name: '发票' }] }, 'toolsets.review'],
  ['a reserved name', { review: [{ tool: 'hub/a', name: 'approval_request' }] }, 'toolsets.review'],
  ['an unknown member', { review: [{ tool: 'hub/a', title: 'A' }] }, 'toolsets.review'],
  [
    'a name used twice',
    {
      review: [
        { tool: 'hub/a', name: 'x' },
        { tool: 'hub/b', name: 'x' },
      ],
    },
    'it is used twice',
  ],
  ['the name of a server', { hub: ['hub/*'] }, 'is the name of a tool server too'],
  ['too many', { review: Array.from({ length: 1_001 }, () => 'hub/*') }, 'toolsets.review'],
];
for (const [name, toolsets, says] of wrong) {
  verifies('toolsets.configured', `refused: ${name}`, () => {
    expect(problemOf(toolsets, { mcpServers: { hub: { url: 'http://127.0.0.1:9/mcp' } } })).toContain(says);
  });
}
