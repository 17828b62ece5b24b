import { expect, test } from 'vitest';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ToolCatalog } from '../tools/catalog/tool-catalog.js';
import { offerTools } from './offer-tools.js';
import type { TurnRequest } from './turn-request.js';

const tool = (description: string): CatalogTool => ({
  name: 'look_up',
  server: 'books',
  tool: 'look_up',
  description,
  inputSchema: { type: 'object', properties: {} },
  annotations: {},
  definitionHash: description,
  safe: true,
  readOnly: true,
  timeoutMs: 1_000,
  maxTimeoutMs: 1_000,
  isolation: 'process',
  available: true,
});

function catalogOf(tools: readonly CatalogTool[]): ToolCatalog {
  return {
    version: '1',
    find: (name) => tools.find((one) => one.name === name),
    list: () => tools,
    hasServer: () => true,
  };
}

const request = { dialect: 'openai', toolMode: 'auto', tools: [{ type: 'mcp', serverLabel: '*', deniedTools: [] }] };
const offered = (catalog: ToolCatalog) => offerTools(request as unknown as TurnRequest, catalog, 10).definitions[0]!;

test('each request is offered the one definition of a tool of the catalog, until the catalog has another', () => {
  const catalog = catalogOf([tool('Looks a book up')]);
  expect(offered(catalog)).toBe(offered(catalog));
  expect(offered(catalogOf([tool('Looks two books up')])).description).toBe('Looks two books up');
});
