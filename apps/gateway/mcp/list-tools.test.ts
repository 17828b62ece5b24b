import { ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { verifies } from '../../../test/verifies.js';
import { listPage } from './list-tools.js';

const toolsNamed = (...names: string[]) =>
  names.map(
    (name) => ({ name, server: 's', description: '', inputSchema: {}, annotations: {} }) as unknown as CatalogTool,
  );

verifies('mcp.pages', 'all of them, a tool that came, a tool that went, a wrong cursor', () => {
  const namesOf = (page: { tools: { name: string }[] }) => page.tools.map(({ name }) => name);
  const first = listPage(toolsNamed('a', 'b', 'c'), undefined, 2);
  expect(namesOf(first)).toEqual(['a', 'b']);
  const second = listPage(toolsNamed('0', 'a', 'b', 'c', 'd'), first.nextCursor, 2);
  expect(namesOf(second)).toEqual(['c', 'd']);
  expect(second.nextCursor).toBeUndefined();
  expect(() => listPage(toolsNamed('a', 'c'), first.nextCursor, 2)).toThrow(AppError);
  expect(() => listPage(toolsNamed('a'), '/../', 2)).toThrow(AppError);
  expect(listPage([], undefined)).toEqual({ tools: [] });
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
  const page = listPage(catalog, undefined);
  expect(ListToolsResultSchema.parse(page).tools).toHaveLength(catalog.length);
  expect(page.tools.at(-1)!.outputSchema).toEqual({
    type: 'object',
    properties: { a: {}, b: { not: {} }, c: {}, d: { type: 'string' } },
  });
});
