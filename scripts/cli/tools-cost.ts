// What the definitions of tools cost a model that is offered all of them, by server and tool, most expensive first.
export interface CountedTool {
  function: { name: string };
  server: string;
  tokens: number;
}

interface Cost {
  name: string;
  tokens: number;
}

export interface ToolsCost {
  tokens: number;
  servers: (Cost & { tools: Cost[] })[];
}

export const noTools = 'No tools were found: is a worker running?';

export function toolsCostOf(tools: readonly CountedTool[]): ToolsCost {
  const byServer = new Map<string, Cost[]>();
  for (const { function: named, server, tokens } of tools) {
    const costs = byServer.get(server) ?? [];
    byServer.set(server, costs);
    costs.push({ name: named.name, tokens });
  }
  const servers = [...byServer].map(([name, costs]) => ({
    name,
    tokens: sumOf(costs),
    tools: costs.sort(dearestFirst),
  }));
  return { tokens: sumOf(servers), servers: servers.sort(dearestFirst) };
}

export function costLines({ tokens, servers }: ToolsCost): string[] {
  const tools = servers.flatMap((server) => server.tools);
  if (tools.length === 0) return [noTools];
  const width = Math.max('tokens'.length, String(tokens).length);
  const line = (cost: number | string, text: string) => `${String(cost).padStart(width)}  ${text}`;
  return [
    line('tokens', 'server or tool'),
    ...servers.flatMap((server) => [
      line(server.tokens, `${server.name} (${server.tools.length})`),
      ...server.tools.map((tool) => line(tool.tokens, `  ${server.name}/${tool.name}`)),
    ]),
    line(tokens, `all ${tools.length} tools, about, in each model call that offers them`),
  ];
}

const sumOf = (costs: readonly Cost[]): number => costs.reduce((sum, { tokens }) => sum + tokens, 0);
const dearestFirst = (one: Cost, other: Cost): number => other.tokens - one.tokens || (one.name < other.name ? -1 : 1);
