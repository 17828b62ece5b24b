import { expect } from 'vitest';
import { Toolsets } from '#libs/policy/toolset.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { verifies } from '../../../test/verifies.js';
import type { ServerTools } from './tool-catalog.js';
import { ToolsetCatalog } from './toolset-catalog.js';

const made = (server: string, tool: string, name = tool) =>
  ({ server, tool, name, description: `${tool} of ${server}`, definitionHash: `${server}-${tool}` }) as CatalogTool;

function catalogWith(sets: Toolsets, tools: readonly CatalogTool[]) {
  const held = { tools };
  const inner: ServerTools = {
    find: (name) => held.tools.find((tool) => tool.name === name),
    list: (server) => (server === undefined ? held.tools : held.tools.filter((tool) => tool.server === server)),
    hasServer: (server) => held.tools.some((tool) => tool.server === server),
    offering: () => [],
    onChange: () => () => undefined,
    get version() {
      return String(held.tools.length);
    },
  };
  return { catalog: new ToolsetCatalog(inner, sets), held };
}
const tools = [made('hub', 'read'), made('hub', 'write'), made('desk', 'read', 'desk__read'), made('desk', 'look')];
const namesOf = (catalog: ToolsetCatalog, set: string) => catalog.list(set).map(({ name }) => name);

verifies('toolsets.names', 'a name that it gives comes before those of the servers', () => {
  const sets = new Toolsets({
    all: ['*/*', { tool: 'hub/write', name: 'look' }],
    taken: ['*/*', { tool: 'hub/write', name: 'desk__look' }, { tool: 'hub/read', name: 'look' }],
    described: [{ tool: 'hub/read', description: 'Reads.' }],
  });
  const { catalog } = catalogWith(sets, tools);
  expect(namesOf(catalog, 'all')).toEqual(['read', 'look', 'desk__read', 'desk__look']);
  expect(catalog.find('look', 'all')).toMatchObject({ server: 'hub', tool: 'write', aliasOf: tools[1]! });
  expect(catalog.find('desk__look', 'all')).toMatchObject({ server: 'desk', tool: 'look', aliasOf: tools[3]! });
  // Both of its possible names are given to others: no call of it could be told from theirs.
  expect(namesOf(catalog, 'taken')).toEqual(['look', 'desk__look', 'desk__read']);
  expect(catalog.list('described')).toEqual([{ ...tools[0], description: 'Reads.', aliasOf: tools[0] }]);
  expect(catalog.list('all')[0]).toBe(tools[0]);
  // Outside of the set, its names mean nothing.
  expect([catalog.find('look')?.server, catalog.find('read', 'none'), catalog.find('write', 'all')]).toEqual([
    'desk',
    undefined,
    undefined,
  ]);
});

verifies('toolsets.names', 'made once for a catalog and its sets, and again after a change of either', () => {
  const sets = new Toolsets({ some: ['hub/*'] });
  const { catalog, held } = catalogWith(sets, tools);
  const [first, { version }] = [catalog.list('some'), catalog];
  expect(catalog.list('some')).toBe(first);
  held.tools = [...tools, made('hub', 'new')];
  expect(namesOf(catalog, 'some')).toEqual(['read', 'write', 'new']);
  sets.replace({ some: ['desk/*'], more: ['hub/*', 'gone/*'] });
  expect(namesOf(catalog, 'some')).toEqual(['desk__read', 'look']);
  expect([catalog.hasServer('more'), catalog.hasServer('hub'), catalog.hasServer('gone')]).toEqual([true, true, false]);
  expect(catalog.version).not.toBe(version);
  expect(catalog.unmatched()).toEqual({ more: ['gone/*'] });
  sets.replace({});
  expect([catalog.hasServer('some'), catalog.list('some'), catalog.version]).toEqual([false, [], '5']);
});

verifies('toolsets.names', 'ten thousand tools are filtered once, not for each request', () => {
  const sets = new Toolsets({ some: Array.from({ length: 20 }, (_, index) => `hub/*${index}`) });
  const many = Array.from({ length: 10_000 }, (_, index) => made('hub', `tool_${index}`));
  const { catalog } = catalogWith(sets, many);
  const listed = catalog.list('some');
  expect(listed.length).toBe(10_000);
  for (let index = 0; index < 10_000; index++) if (catalog.list('some') !== listed) throw new Error('made again');
});
