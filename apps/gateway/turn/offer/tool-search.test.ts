import { expect, test } from 'vitest';
import { readConfig } from '#libs/config/read-config.js';
import { type Config, configSchema } from '#libs/config/schema.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { Toolsets } from '#libs/policy/toolset.js';
import { catalogTool } from '../../../../test/support/catalog-tool.js';
import { faultOf } from '../../../../test/support/fault-of.js';
import { verifies } from '../../../../test/verifies.js';
import { ToolPolicy } from '../../govern/tool-policy.js';
import type { ToolCatalog, WatchedToolCatalog } from '../../tools/tool-catalog.js';
import { ToolFinder } from '../../tools/tool-finder.js';
import { ToolsetCatalog } from '../../tools/toolset-catalog.js';
import { offeredTool, offerTools, type ToolOffer } from '../offer-tools.js';
import type { RequestedTool, TurnRequest } from '../turn-request.js';

const inputSchema = { type: 'object', properties: { path: { type: 'string' }, force: {} }, required: ['path'] };
const toolOf = (server: string, name: string, description = `Does ${name}`): CatalogTool =>
  catalogTool(server, name, { description, inputSchema });

function catalogOf(tools: readonly CatalogTool[]): ToolCatalog {
  const servers = new Map<string, CatalogTool[]>();
  for (const tool of tools) servers.set(tool.server, [...(servers.get(tool.server) ?? []), tool]);
  const names = new Map(
    tools.flatMap((tool) => [[`${tool.server}__${tool.tool}`, tool] as const, [tool.name, tool] as const]),
  );
  return {
    version: '1',
    find: (name) => names.get(name),
    list: (server) => (server === undefined ? tools : (servers.get(server) ?? [])),
    hasServer: (server) => servers.has(server),
    isToolset: () => false,
    search: (query, options) => new ToolFinder().find(query, tools, options),
  };
}

const numbered = (server: string, count: number) =>
  Array.from({ length: count }, (_none, at) => toolOf(server, `${server}_${at}`));
const settings = configSchema.parse({});
const { signal } = new AbortController();
const everything: RequestedTool = { type: 'mcp', serverLabel: '*' };
const own = (name: string): RequestedTool => ({ type: 'function', definition: { name } });

interface Given extends Partial<TurnRequest> {
  bounds?: Partial<Config['tools']> & { maxTools?: number };
}

const offer = (catalog: ToolCatalog, { bounds = {}, ...request }: Given = {}): ToolOffer => {
  const { maxTools = settings.limits.tools, ...tools } = bounds;
  const given = { dialect: 'openai', tools: [everything], ...request } as unknown as TurnRequest;
  return offerTools(given, catalog, { limits: { tools: maxTools }, tools: { ...settings.tools, ...tools } });
};
const namesIn = ({ definitions }: Pick<ToolOffer, 'definitions'>) => definitions.map(({ name }) => name);
const shown = ({ search, definitions }: ToolOffer) => namesIn({ definitions: search?.definitions ?? definitions });

const forty = catalogOf(numbered('a', 40));
const more = catalogOf([...numbered('a', 40), ...numbered('b', 5)]);

verifies('tools.search-offered', 'above the bound of tools, of tokens, of what a model call may have', () => {
  expect(shown(offer(forty))).toHaveLength(40);
  expect(shown(offer(more))).toEqual(['find_tools']);
  expect(offer(more).runsHere).toBe(true);
  const wordy = catalogOf([toolOf('a', 'one', 'x'.repeat(20_000)), toolOf('a', 'two', '长'.repeat(3_500))]);
  expect(shown(offer(wordy))).toEqual(['find_tools']);
  const few = { maxTools: 10 };
  expect(shown(offer(forty, { bounds: few }))).toEqual(['find_tools']);
  expect(shown(offer(more, { tools: [own('mine'), everything] }))).toEqual(['mine', 'find_tools']);
});

verifies('tools.search-offered', 'always and never, and with calls that the caller runs', () => {
  expect(shown(offer(forty, { bounds: { search: 'always' } }))).toEqual(['find_tools']);
  expect(shown(offer(more, { bounds: { search: 'never' } }))).toHaveLength(45);
  expect(shown(offer(more, { toolMode: 'manual' }))).toHaveLength(45);
  const fault = faultOf(() => offer(more, { bounds: { search: 'never', maxTools: 44 } }));
  expect(fault).toMatchObject({ code: 'too_many_tools' });
  expect(offer(more, { tools: [own('mine')] }).search).toBeUndefined();
  expect(shown(offer(catalogOf([]), { bounds: { search: 'always' } }))).toEqual([]);
});

verifies('tools.search-offered', 'what the request names stays a list', () => {
  const listed: RequestedTool = { type: 'mcp', serverLabel: 'b', allowedTools: ['b_1', 'b_0'] };
  const always = { search: 'always' as const };
  expect(shown(offer(more, { tools: [listed], bounds: always }))).toEqual(['b_1', 'b_0']);
  expect(offer(more, { tools: [listed], bounds: always }).search).toBeUndefined();
  expect(shown(offer(more, { tools: [listed, everything] }))).toEqual(['b_1', 'b_0', 'find_tools']);
  const only = { allowedTools: [{ name: 'a_3' }, { server: 'b', name: 'b_4' }] };
  expect(shown(offer(more, only))).toEqual(['a_3', 'b_4']);
  expect(shown(offer(more, { allowedTools: [{ server: 'b' }] }))).toHaveLength(5);
  const large = { type: 'mcp' as const, serverLabel: '*', allowedTools: [...Array(41)].map((_none, at) => `a_${at}`) };
  expect(faultOf(() => offer(more, { tools: [large] }))).toMatchObject({ code: 'tool_not_found' });
});

verifies('tools.search-offered', 'a tool that tool_choice names; of a server with too many, any that is found', () => {
  const one = offer(more, { toolChoice: { name: 'a_7' } });
  expect([one.toolChoice, shown(one)]).toEqual([{ name: 'a_7' }, ['find_tools', 'a_7']]);
  const of = offer(more, { toolChoice: { server: 'b' } });
  expect([of.toolChoice, namesIn({ definitions: of.firstDefinitions! })]).toEqual([
    'required',
    ['b_0', 'b_1', 'b_2', 'b_3', 'b_4'],
  ]);
  const tooMany = offer(more, { toolChoice: { server: 'a' }, bounds: { search_above: { tools: 10, tokens: 8_000 } } });
  expect(tooMany.toolChoice).toEqual({ name: 'find_tools' });
  for (const toolChoice of [{ name: 'none' }, { server: 'c' }, { server: 'b', name: 'a_1' }]) {
    expect(faultOf(() => offer(more, { toolChoice }))).toMatchObject({ code: 'tool_not_found' });
  }
});

verifies(
  'tools.search-offered',
  'a toolset is searched under its own names, and its tools are the real ones',
  async () => {
    const sets = new Toolsets({ part: ['a/*', { tool: 'b/b_1', name: 'hammer', description: '锤子' }] });
    const catalog = new ToolsetCatalog({ ...more, offering: () => [], onChange: () => () => undefined }, sets);
    const part: RequestedTool = { type: 'mcp', serverLabel: 'part' };
    const found = offer(catalog, { tools: [part] });
    expect(shown(found)).toEqual(['find_tools']);
    expect(await found.search!.answer({ query: '锤子' }, signal)).toMatchObject({
      blocks: [{ text: expect.stringContaining('hammer') as string }],
    });
    expect(offeredTool(found, 'hammer')).toMatchObject({ definition: { name: 'hammer' }, tool: { name: 'b_1' } });
    for (const outside of ['b_1', 'b_2', 'b__b_1']) expect(offeredTool(found, outside), outside).toBeUndefined();
    const both = offer(catalog, { tools: [part, { type: 'mcp', serverLabel: 'b' }] });
    expect(offeredTool(both, 'b_2')).toMatchObject({ tool: { name: 'b_2' } });
    expect(await both.search!.answer({ query: 'b_1 锤子' }, signal)).toMatchObject({
      blocks: [{ text: expect.stringMatching(/hammer[^]*b_1|b_1[^]*hammer/) as string }],
    });
  },
);

verifies('tools.search-offered', 'the name is reserved while tools are searched', () => {
  const tools = [own('find_tools'), everything];
  expect(faultOf(() => offer(more, { tools }))).toMatchObject({ code: 'reserved_name' });
  expect(shown(offer(forty, { tools }))).toHaveLength(41);
  // A server's own tool of that name is known by its long name.
  const theirs = offer(catalogOf([...numbered('a', 41), toolOf('b', 'find_tools', 'Finds hammers')]));
  theirs.search!.offer(['b__find_tools']);
  expect(shown(theirs)).toEqual(['find_tools', 'b__find_tools']);
  expect(offeredTool(theirs, 'b__find_tools')).toMatchObject({ tool: { server: 'b', tool: 'find_tools' } });
});

const asking = (id: string, name: string): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }],
});
const answering = (id: string, content: string): ChatMessage => ({ role: 'tool', tool_call_id: id, content });

verifies('tools.search-found', 'what the conversation calls, and what was found in it, in a steady order', () => {
  const offered = offer(more);
  const messages = [asking('1', 'a_2'), answering('1', 'ok'), asking('2', 'find_tools')];
  offered.search!.see(messages);
  expect(shown(offered)).toEqual(['find_tools', 'a_2']);
  const found = JSON.stringify({ tools: [{ name: 'b_1' }, { name: 'nobody' }, { name: 5 }, null] });
  messages.push(
    answering('2', found),
    asking('3', 'a_2'),
    answering('3', JSON.stringify({ tools: [{ name: 'a_9' }] })),
  );
  offered.search!.see(messages);
  // Only results of find_tools count.
  expect(shown(offered)).toEqual(['find_tools', 'a_2', 'b_1']);
  offered.search!.see([...messages, asking('4', 'find_tools'), answering('4', '['.repeat(100_000))]);
  expect(shown(offered)).toEqual(['find_tools', 'a_2', 'b_1']);
});

verifies('tools.search-offered', 'the last 40 that were named, and no more than a model call may have', () => {
  const offered = offer(more);
  const names = numbered('a', 40).map(({ name }) => name);
  offered.search!.offer([...names, 'a_0', 'b_0', 'b_1']);
  expect(shown(offered)).toHaveLength(41);
  expect(shown(offered).slice(0, 3)).toEqual(['find_tools', 'a_0', 'a_3']);
  const narrow = offer(more, { tools: [own('mine'), everything], bounds: { maxTools: 5 } });
  narrow.search!.offer(names);
  expect(shown(narrow)).toEqual(['mine', 'find_tools', 'a_37', 'a_38', 'a_39']);
});

test('a result is short, whatever the definitions are', async () => {
  const properties = Object.fromEntries(
    Array.from({ length: 500 }, (_none, at) => [`member_${at}`, { type: 'string' }]),
  );
  const long = { ...toolOf('b', 'weave', 'Weaves 布 '.repeat(10_000)), inputSchema: { type: 'object', properties } };
  const many = Array.from({ length: 30 }, (_none, at) => ({ ...long, name: `weave_${at}`, tool: `weave_${at}` }));
  const { search } = offer(catalogOf([...numbered('a', 41), ...many]));
  for (const limit of [1_000, 20, -5, undefined]) {
    const { blocks } = await search!.answer({ query: 'weave 布', ...(limit === undefined ? {} : { limit }) }, signal);
    const { text } = blocks[0] as { text: string };
    expect(text.length).toBeLessThan(25_000);
    const { tools } = JSON.parse(text) as { tools: { parameters: string[] }[] };
    expect(tools).toHaveLength({ 1000: 20, 20: 20, '-5': 1 }[String(limit)] ?? 5);
    expect(tools[0]!.parameters).toHaveLength(21);
  }
});

verifies('tools.search-found', 'among the chosen servers and tools only', async () => {
  const catalog = catalogOf([...numbered('a', 45), ...numbered('b', 45), toolOf('c', 'saw', 'Cuts wood')]);
  const found = async (query: string, tools: RequestedTool[], limit = 20) => {
    const { blocks } = await offer(catalog, { tools }).search!.answer({ query, limit }, signal);
    return (JSON.parse((blocks[0] as { text: string }).text) as { tools: { name: string }[] }).tools.map(
      ({ name }) => name,
    );
  };
  expect(await found('saw wood', [everything])).toEqual(['saw']);
  expect(await found('saw wood', [{ type: 'mcp', serverLabel: 'a' }])).toEqual([]);
  expect(await found('saw wood', [{ ...everything, deniedTools: ['saw'] }])).toEqual([]);
  const unwanted = await found('b_7', [{ ...everything, deniedTools: ['b_7'] }]);
  expect(unwanted).not.toContain('b_7');
});

/** Tools that count what is read of them. */
function counting(tools: readonly CatalogTool[]) {
  const count = { reads: 0 };
  const get = (tool: CatalogTool, member: keyof CatalogTool) => {
    count.reads += 1;
    return tool[member];
  };
  return {
    count,
    tools: tools.map((tool) => new Proxy(tool, { get: get as ProxyHandler<CatalogTool>['get'] & object })),
  };
}

verifies('tools.search-cost', 'counted: 10,000 tools of 500 servers, and 60 of 3, by two callers', async () => {
  const text = JSON.stringify({
    policy: { rules: [{ name: 'guests', tool: 's0/s0_1', role: 'guest', effect: 'deny' }] },
  });
  const config = readConfig({ environment: {}, file: { path: 'x.yaml', text } });
  const requests: Given[] = [
    {},
    { tools: ['s0', 's1', 's2'].map((serverLabel) => ({ type: 'mcp', serverLabel }) as const) },
    { tools: [{ ...everything, deniedTools: ['s1_3'] }] },
    { allowedTools: [{ name: 's0_3' }, { server: 's1', name: 's1_2' }] },
    { toolChoice: { server: 's2' } },
    { toolChoice: { name: 's2_19' } },
  ];
  const costsOf = async (servers: number) => {
    const { count, tools } = counting(Array.from({ length: servers }, (_none, at) => numbered(`s${at}`, 20)).flat());
    const policy = new ToolPolicy(
      config,
      { ...catalogOf(tools), onChange: () => () => undefined } as unknown as WatchedToolCatalog,
      () => undefined,
    );
    const costs: number[] = [];
    for (const caller of [{ principal: 'anna' }, { principal: 'guest', roles: ['guest'] }]) {
      const serve = async () => {
        for (const request of requests) offer(policy.catalogOf(caller), request);
        await offer(policy.catalogOf(caller)).search!.answer({ query: 's0 3', limit: 1 }, signal);
      };
      await serve();
      count.reads = 0;
      await serve();
      costs.push(count.reads);
    }
    return costs;
  };
  const few = await costsOf(3);
  expect(await costsOf(500)).toEqual(few);
  for (const reads of few) expect(reads).toBeGreaterThan(0);
});
