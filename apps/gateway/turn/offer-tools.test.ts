import { expect, test } from 'vitest';
import { catalogTool } from '../../../test/support/catalog-tool.js';
import { faultOf } from '../../../test/support/fault-of.js';
import { verifies } from '../../../test/verifies.js';
import { configSchema } from '#libs/config/schema.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ToolCatalog } from '../tools/tool-catalog.js';
import { offerTools } from './offer-tools.js';
import type { TurnRequest } from './turn-request.js';

const settings = { ...configSchema.parse({}), limits: { tools: 10 } };

const tool = (description: string): CatalogTool =>
  catalogTool('books', 'look_up', { description, definitionHash: description });

function catalogOf(tools: readonly CatalogTool[]): ToolCatalog {
  return {
    version: '1',
    find: (name) => tools.find((one) => one.name === name),
    list: (server) => tools.filter((one) => server === undefined || one.server === server),
    hasServer: (server) => tools.some((one) => one.server === server),
    isToolset: () => false,
    search: () => Promise.resolve([]),
  };
}

const request = { dialect: 'openai', toolMode: 'auto', tools: [{ type: 'mcp', serverLabel: '*', deniedTools: [] }] };
const offered = (catalog: ToolCatalog) =>
  offerTools(request as unknown as TurnRequest, catalog, settings).definitions[0]!;

test('each request is offered the one definition of a tool of the catalog, until the catalog has another', () => {
  const catalog = catalogOf([tool('Looks a book up')]);
  expect(offered(catalog)).toBe(offered(catalog));
  expect(offered(catalogOf([tool('Looks two books up')])).description).toBe('Looks two books up');
});

const named = (server: string, name: string, shown = name) => catalogTool(server, name, { name: shown });
const shelf = catalogOf([named('books', 'find'), named('books', 'lend'), named('films', 'find', 'films__find')]);
const own = { type: 'function' as const, definition: { name: 'mine' } };
const servers = ['books', 'films'].map((serverLabel) => ({ type: 'mcp' as const, serverLabel }));
const offer = (more: Partial<TurnRequest>) =>
  offerTools({ dialect: 'openai', tools: [own, ...servers], ...more } as unknown as TurnRequest, shelf, settings);
const names = (tools: readonly { name: string }[] | undefined) => tools?.map(({ name }) => name);

verifies('chat.tool-choice', 'any tool of a server, in the first round only; one of them by its name', () => {
  const any = offer({ toolChoice: { server: 'books' } });
  expect([any.toolChoice, names(any.firstDefinitions)]).toEqual(['required', ['find', 'lend']]);
  expect(names(any.definitions)).toEqual(['mine', 'find', 'lend', 'films__find']);
  for (const choice of [
    { server: 'films' },
    { server: 'films', name: 'find' },
    { server: 'films', name: 'films__find' },
  ]) {
    const one = offer({ toolChoice: choice });
    expect([one.toolChoice, one.firstDefinitions]).toEqual([{ name: 'films__find' }, undefined]);
  }
  expect(names(offer({ toolChoice: { server: 'books' }, toolMode: 'manual' }).firstDefinitions)).toEqual([
    'find',
    'lend',
  ]);
});

verifies('chat.tool-choice', 'allowed tools are the only ones, own ones and those of servers', () => {
  const allowedTools = [{ name: 'mine' }, { server: 'books', name: 'lend' }, { server: 'films' }];
  const some = offer({ allowedTools, toolChoice: 'required' });
  expect([some.toolChoice, names(some.definitions)]).toEqual(['required', ['mine', 'lend', 'films__find']]);
  expect([...some.tools.keys()]).toEqual(['mine', 'lend', 'films__find']);
  const mine = offer({ allowedTools: [{ name: 'mine' }] });
  expect([mine.runsHere, names(mine.definitions)]).toEqual([false, ['mine']]);
});

test('a server that is not in the catalog may be one that has not been ready yet, or that nobody has signed in at', () => {
  const fault = faultOf(() => offer({ tools: [{ type: 'mcp', serverLabel: 'games', deniedTools: [] } as never] }));
  expect(fault).toMatchObject({ code: 'tool_not_found', http: 400, param: 'tools' });
  expect(fault).toHaveProperty(
    'message',
    expect.stringMatching(/^Server 'games' not found: .* not been ready yet, .* signed in .*Connections/),
  );
});

verifies('chat.tool-choice', 'what is not offered cannot be chosen', () => {
  const unknown: TurnRequest['toolChoice'][] = [{ name: 'x' }, { server: 'x' }, { server: 'books', name: 'x' }];
  for (const choice of unknown) {
    const refused = { code: 'tool_not_found', http: 400, param: 'tool_choice' };
    expect(faultOf(() => offer({ toolChoice: choice }))).toMatchObject(refused);
    expect(faultOf(() => offer({ allowedTools: [choice as { name: string }] }))).toMatchObject(refused);
  }
  expect(faultOf(() => offer({ tools: [own], toolChoice: { server: 'books' } }))).toMatchObject({
    param: 'tool_choice',
  });
});
