import { ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
import type { NameMapping } from '#libs/names/map-names.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { verifies } from '../../../test/verifies.js';
import { listedNames } from './listed-names.js';
import { type ListedNaming, listPage, nameMetaKey, serverMetaKey, toMcpTool } from './list-tools.js';

const toolsNamed = (...names: string[]) =>
  names.map(
    (name) => ({ name, server: 's', description: '', inputSchema: {}, annotations: {} }) as unknown as CatalogTool,
  );

const namingOf = (names: NameMapping): ListedNaming => ({ names, appMetaOf: ({ appMeta }) => appMeta! });

const list = (given: string[], cursor?: string) => {
  const tools = toolsNamed(...given);
  return listPage(tools, { cursor, pageSize: 2, ...namingOf(listedNames({ list: () => tools })) });
};

verifies('mcp.pages', 'all of them, a tool that came, a tool that went, a wrong cursor', () => {
  const namesOf = (page: { tools: { name: string }[] }) => page.tools.map(({ name }) => name);
  const first = list(['a', 'b', 'c']);
  expect(namesOf(first)).toEqual(['a', 'b']);
  const second = list(['0', 'a', 'b', 'c', 'd'], first.nextCursor);
  expect(namesOf(second)).toEqual(['c', 'd']);
  expect(second.nextCursor).toBeUndefined();
  expect(() => list(['a', 'c'], first.nextCursor)).toThrow(AppError);
  expect(() => list(['a'], '/../')).toThrow(AppError);
  expect(list([])).toEqual({ tools: [] });
});

verifies('mcp.lists', 'a schema that clients before 2026 do not take costs nobody the page', () => {
  const given = [
    {},
    { type: 'array' },
    { properties: [], required: 'a' },
    { type: 'object', properties: { a: true, b: false, c: 5, d: { type: 'string' } }, required: ['a', 1] },
  ];
  const catalog = given.flatMap((schema, at) => [
    { ...toolsNamed(`in_${at}`)[0]!, inputSchema: schema },
    { ...toolsNamed(`out_${at}`)[0]!, outputSchema: schema },
  ]) as CatalogTool[];
  const page = listPage(catalog, namingOf(listedNames({ list: () => catalog })));
  expect(ListToolsResultSchema.parse(page).tools).toHaveLength(catalog.length);
  expect(page.tools.at(-1)!.outputSchema).toEqual({
    type: 'object',
    properties: { a: {}, b: { not: {} }, c: {}, d: { type: 'string' } },
  });
});

verifies(
  'mcp.names',
  'what a strict client takes, the same for every caller and page, and never another tool’s',
  () => {
    const given = ['chimech/query', 'notes.read', 'a//b', 'x/y', 'x_y', '读', 'plain', 'l/'.repeat(60)];
    const tools = given.map((tool) => ({ ...toolsNamed(tool)[0]!, tool }));
    // `a__b` always leads to the tool b of the server a.
    tools.push({ ...toolsNamed('b')[0]!, server: 'a', tool: 'b' });
    const names = listedNames({ list: () => tools });
    const shown = tools.map((tool) => toMcpTool(tool, namingOf(names)));
    for (const { name } of shown) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(new Set([...shown.map(({ name }) => name), 'a__b', 's__plain'])).toHaveLength(tools.length + 2);
    expect(shown.map(({ name }) => names.fromWire(name))).toEqual(tools.map(({ name }) => name));
    expect(shown[0]).toMatchObject({
      name: 'chimech_query',
      title: 'chimech/query',
      _meta: { [nameMetaKey]: 'chimech/query' },
    });
    expect(shown[1]).toMatchObject({ name: 'notes_read', title: 'notes.read' });
    expect(shown[6]).toEqual({ ...shown[6], name: 'plain', _meta: { [serverMetaKey]: 's' } });
    expect(shown[6]).not.toHaveProperty('title');
    expect(names.fromWire('s__chimech_query')).toBe('s__chimech/query');
    const titled = { ...tools[0]!, title: 'Query' };
    expect(toMcpTool(titled, namingOf(names))).toMatchObject({
      title: 'Query',
      _meta: { [nameMetaKey]: 'chimech/query' },
    });
    expect(toMcpTool({ ...tools[0]!, annotations: { title: 'Query' } }, namingOf(names))).not.toHaveProperty('title');
  },
);
