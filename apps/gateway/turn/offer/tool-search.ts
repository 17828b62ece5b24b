// The tool `find_tools`, which a model is offered in place of more server tools than its request should carry. What it found, and
// what the conversation names, is offered from the next model call on; the gateway itself answers its calls.
import type { StoredCall } from '#libs/runs/run-store.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import type { CatalogTool, ToolDefinition } from '#libs/schemas/tool-definition.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { SchemaOwner } from '../../tools/tool-catalog.js';
import type { ChosenTools } from './chosen-tools.js';
import { foundText, namedIn, namesFound } from './found-tools.js';
import type { OfferedTool } from './offered-tool.js';

export const findToolsName = 'find_tools';

/** As whose tools those of the gateway itself are shown and counted. The journal has no server for them. */
export const gatewayLabel = 'signalbox';

/** Whose tool a call of a server was. A search that was not offered is a call of an unknown tool. */
export const shownServer = ({ name, server, outcome }: Pick<StoredCall, 'name' | 'server' | 'outcome'>): string =>
  name === findToolsName && server === '' && outcome?.error?.code !== 'tool_not_found' ? gatewayLabel : server;

/** Those that were named last are offered. Others can be found again. */
const maxOffered = 40;
const usualLimit = 5;
const mostFound = 20;

const inputSchema = {
  type: 'object',
  properties: {
    query: { type: 'string', minLength: 1, description: 'What the tool should do, in a few words' },
    limit: { type: 'integer', description: `How many tools to find; ${usualLimit} unless given, at most ${mostFound}` },
  },
  required: ['query'],
  additionalProperties: false,
};

export const findTools: ToolDefinition = {
  name: findToolsName,
  description:
    'Finds tools by what they do. There are more tools than those in your list: look for one before you say that something ' +
    'cannot be done. The tools that it finds are in your list from the next message on.',
  parameters: inputSchema,
};

/** As arguments are checked against it. */
export const findToolsOwner: SchemaOwner = {
  name: findToolsName,
  server: '',
  definitionHash: findToolsName,
  inputSchema,
};

/** As families are told of it. */
export const toolSearchForm = { name: findToolsName, namesIn: namesFound };

export class ToolSearch {
  /** By the names that models know. The order stays, so that upstreams can cache what they have read. */
  private readonly offered = new Map<string, { definition: ToolDefinition; namedAt: number }>();
  private named = 0;
  /** How many messages of the conversation were read. */
  private read = 0;
  private readonly first: readonly ToolDefinition[];
  private readonly room: number;

  constructor(
    private readonly chosen: ChosenTools,
    /** The tools that are offered in any case. */
    private readonly listed: ReadonlyMap<string, OfferedTool>,
    maxTools: number,
  ) {
    this.first = [...[...listed.values()].map(({ definition }) => definition), findTools];
    this.room = Math.min(maxOffered, maxTools - this.first.length);
  }

  get definitions(): ToolDefinition[] {
    return [...this.first, ...[...this.offered.values()].map(({ definition }) => definition)];
  }

  /** A tool that the request chooses, found or not: a model may know its name from elsewhere. */
  toolOf(name: string): OfferedTool | undefined {
    const found = this.listed.has(name) ? undefined : this.chosen.toolOf(name);
    return found && renamed(found);
  }

  /** Offers those of these tools that the request chooses. */
  offer(names: Iterable<string>): void {
    for (const name of names) {
      const definition = this.toolOf(name)?.definition;
      if (definition === undefined || this.listed.has(definition.name)) continue;
      const known = this.offered.get(definition.name);
      const namedAt = this.named++;
      if (known === undefined) this.offered.set(definition.name, { definition, namedAt });
      else Object.assign(known, { definition, namedAt });
    }
    const surplus = this.offered.size - this.room;
    if (surplus <= 0) return;
    const oldest = [...this.offered].sort(([, one], [, other]) => one.namedAt - other.namedAt).slice(0, surplus);
    for (const [name] of oldest) this.offered.delete(name);
  }

  /** Offers what the conversation names that was not read yet: tools that were called, and tools that were found. */
  see(messages: readonly ChatMessage[]): void {
    if (this.read === messages.length) return;
    this.offer(namedIn(messages, this.read, findToolsName));
    this.read = messages.length;
  }

  /** @throws the signal's reason */
  async answer({ query, limit: asked }: JsonObject, signal: AbortSignal): Promise<ToolOutcome> {
    const limit = typeof asked === 'number' ? Math.min(Math.max(asked, 1), mostFound) : usualLimit;
    const isShown = ({ name }: CatalogTool) => !this.listed.has(name);
    const found = (await this.chosen.search(query as string, { limit, isShown, signal })).map(renamed);
    return { state: 'completed', blocks: [{ type: 'text', text: foundText(found) }], durationMs: 0 };
  }
}

/** A server's own tool of this name has its long name here, which the catalog knows too. */
function renamed(offered: OfferedTool): OfferedTool {
  const { definition, tool } = offered;
  if (definition.name !== findToolsName || tool === undefined) return offered;
  return { ...offered, definition: { ...definition, name: `${tool.server}__${tool.tool}` } };
}
