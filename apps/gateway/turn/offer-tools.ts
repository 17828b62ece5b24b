// Decides which tools of a request the model is offered, and who runs each of them.
import type { Config } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import { isForModels } from '#libs/mcp-server/tool-app.js';
import type { ToolChoice, ToolDefinition } from '#libs/schemas/tool-definition.js';
import { definitionTokens } from '#libs/tool-search/definition-tokens.js';
import type { ToolCatalog } from '../tools/tool-catalog.js';
import { toolWithin } from '../tools/tool-of-call.js';
import { ChosenTools, type ToolPick, noSuchTool } from './offer/chosen-tools.js';
import { definitionOf, type OfferedTool } from './offer/offered-tool.js';
import { findTools, findToolsName, ToolSearch } from './offer/tool-search.js';
import type { OwnCall, TurnRequest } from './turn-request.js';

export interface ToolOffer {
  /** Those that are listed; `offeredTool` knows those too that can be found. */
  tools: Map<string, OfferedTool>;
  definitions: ToolDefinition[];
  /** The server tools that are not listed. The definitions are its own then, and grow. */
  search?: ToolSearch;
  /** Applies to the first round only. */
  toolChoice?: ToolChoice;
  /** The tools of which the model must call one in the first round, which offers no others. */
  firstDefinitions?: ToolDefinition[];
  /** Whether any offered tool runs here. If so, the turn is a run, and the model gets an error for unknown names. */
  runsHere: boolean;
}

export interface OfferSettings {
  limits: Pick<Config['limits'], 'tools'>;
  tools: Pick<Config['tools'], 'search' | 'search_above'>;
}

/** @throws AppError tool_not_found (400), too_many_tools, reserved_name */
export function offerTools(request: TurnRequest, catalog: ToolCatalog, settings: OfferSettings): ToolOffer {
  if (request.call !== undefined) return offerOwnCall(request.call, catalog);
  const tools = new Map<string, OfferedTool>();
  for (const requested of request.tools) {
    if (requested.type === 'function')
      tools.set(requested.definition.name, offerFunction(requested.definition, request, catalog));
  }
  const chosen = new ChosenTools(request, catalog);
  allowFunctions(tools, chosen, request.allowedTools);
  const search = chosen.isEmpty ? undefined : offerServers({ request, chosen, tools, settings });
  if (tools.size + (search === undefined ? 0 : 1) > settings.limits.tools) {
    const message = `At most ${settings.limits.tools} tools, got ${tools.size}`;
    throw new AppError('too_many_tools', message, { param: 'tools' });
  }
  const offer: ToolOffer = {
    tools,
    definitions: [],
    runsHere: search !== undefined || [...tools.values()].some(({ tool }) => tool !== undefined),
  };
  if (search === undefined) {
    Object.assign(offer, chooseListed(request.toolChoice, tools, chosen));
    offer.definitions = definitionsOf(tools.values());
  } else {
    offer.search = search;
    Object.assign(offer, chooseSearched(request.toolChoice, offer, { chosen, settings }));
    offer.definitions = search.definitions;
  }
  return offer;
}

const definitionsOf = (offered: Iterable<OfferedTool>) => [...offered].map(({ definition }) => definition);

/** Listed, or to be found. */
export const offeredTool = ({ tools, search }: ToolOffer, name: string): OfferedTool | undefined =>
  tools.get(name) ?? search?.toolOf(name);

/** Whether a call of this name looks for tools, and the gateway answers it. */
export const isSearch = ({ search }: ToolOffer, name: string): boolean =>
  name === findToolsName && search !== undefined;

/** The one tool, under the name that the caller wrote and under its own; nothing for an unknown tool, which planning refuses. */
function offerOwnCall({ name, timeoutMs, from }: OwnCall, catalog: ToolCatalog): ToolOffer {
  const tools = new Map<string, OfferedTool>();
  const found = catalog.find(name);
  if (found !== undefined) {
    const offered = {
      definition: definitionOf(found),
      tool: toolWithin(found, timeoutMs),
      fromModel: from === 'model',
    };
    tools.set(name, offered).set(found.name, offered);
  }
  return { tools, definitions: [], runsHere: true };
}

/** Removes the functions that the request does not allow. @throws AppError tool_not_found (400) for a name that is no tool */
function allowFunctions(
  tools: Map<string, OfferedTool>,
  chosen: ChosenTools,
  allowed: TurnRequest['allowedTools'],
): void {
  if (allowed === undefined) return;
  const names = new Set<string>();
  for (const pick of allowed) {
    if (!('server' in pick) && tools.has(pick.name)) names.add(pick.name);
    else if (chosen.picked(pick).next().done === true) throw notPicked(pick);
  }
  for (const name of tools.keys()) if (!names.has(name)) tools.delete(name);
}

interface Offering {
  request: TurnRequest;
  chosen: ChosenTools;
  /** The functions of the request, to which listed tools are added. */
  tools: Map<string, OfferedTool>;
  settings: OfferSettings;
}

/** Lists the chosen server tools, or those of them that the request names. Returns the search for all others. */
function offerServers({ request, chosen, tools, settings }: Offering): ToolSearch | undefined {
  const { search, search_above: above } = settings.tools;
  const { tools: maxTools } = settings.limits;
  const isAny = chosen.all().next().done !== true;
  if (request.toolMode === 'manual' || search === 'never' || !isAny) {
    list(chosen.all(), tools);
    return undefined;
  }
  const room = maxTools - tools.size;
  const all = search === 'always' ? undefined : listUpTo(chosen.all(), tools, { ...above, room });
  const isNamed = all === undefined && chosen.namesAll;
  const listed = all ?? listUpTo(chosen.named(), tools, { ...above, room: isNamed ? room : room - 1 }) ?? new Map();
  const rest = all === undefined && !(isNamed && listed.size > 0);
  if (rest && tools.has(findToolsName)) {
    const message = `The tool name '${findToolsName}' is reserved while the tools of servers are searched`;
    throw new AppError('reserved_name', message, { param: 'tools', toolName: findToolsName });
  }
  for (const [name, offered] of listed) tools.set(name, offered);
  return rest ? new ToolSearch(chosen, tools, maxTools) : undefined;
}

/** A function of the same name keeps the caller's own description. */
function list(offered: Iterable<OfferedTool>, tools: Map<string, OfferedTool>): void {
  for (const each of offered) if (!tools.has(each.definition.name)) tools.set(each.definition.name, each);
}

/** Undefined if they are more than the bound: reading stops there. */
function listUpTo(
  offered: Iterable<OfferedTool>,
  besides: ReadonlyMap<string, OfferedTool>,
  most: Config['tools']['search_above'] & { room: number },
): Map<string, OfferedTool> | undefined {
  const listed = new Map<string, OfferedTool>();
  let tokens = 0;
  for (const each of offered) {
    const { name } = each.definition;
    if (besides.has(name) || listed.has(name)) continue;
    listed.set(name, each);
    tokens += definitionTokens(each.tool!);
    if (listed.size > Math.min(most.tools, most.room) || tokens > most.tokens) return undefined;
  }
  return listed;
}

type Chosen = Pick<ToolOffer, 'toolChoice' | 'firstDefinitions'>;

/** @throws AppError tool_not_found (400) */
function chooseListed(
  choice: TurnRequest['toolChoice'],
  tools: ReadonlyMap<string, OfferedTool>,
  chosen: ChosenTools,
): Chosen {
  if (choice === undefined) return {};
  if (typeof choice === 'string') return { toolChoice: choice };
  if (!('server' in choice) && tools.has(choice.name)) return { toolChoice: { name: choice.name } };
  const picked = new Map<string, OfferedTool>();
  for (const { definition } of 'server' in choice ? chosen.picked(choice) : []) {
    const offered = tools.get(definition.name);
    if (offered !== undefined) picked.set(definition.name, offered);
  }
  if (picked.size === 0) throw notPicked(choice);
  const [name] = picked.keys();
  if (picked.size === 1) return { toolChoice: { name: name! } };
  return { toolChoice: 'required', firstDefinitions: definitionsOf(picked.values()) };
}

/**
 * A tool that is chosen by name is offered. Of the tools of a server the model must call one, or look for one, if they are too many to
 * be listed. @throws AppError tool_not_found (400)
 */
function chooseSearched(
  choice: TurnRequest['toolChoice'],
  { tools, search }: ToolOffer,
  { chosen, settings }: { chosen: ChosenTools; settings: OfferSettings },
): Chosen {
  if (choice === undefined) return {};
  if (typeof choice === 'string') return { toolChoice: choice };
  if (!('server' in choice) && (tools.has(choice.name) || choice.name === findToolsName))
    return { toolChoice: { name: choice.name } };
  const picked = listUpTo(chosen.picked(choice), new Map(), {
    ...settings.tools.search_above,
    room: settings.limits.tools,
  });
  if (picked === undefined) return { toolChoice: { name: findTools.name } };
  if (picked.size === 0) throw notPicked(choice);
  search!.offer(picked.keys());
  const [name] = picked.keys();
  if (picked.size === 1) return { toolChoice: { name: name! } };
  return { toolChoice: 'required', firstDefinitions: definitionsOf(picked.values()) };
}

function notPicked(pick: ToolPick): AppError {
  if (!('server' in pick) || pick.name !== undefined) return noSuchTool(pick.name!, 'tool_choice');
  const message = `tools contains no tool of server '${pick.server}'`;
  return new AppError('tool_not_found', message, { http: 400, param: 'tool_choice' });
}

const functionsRunHere = ({ dialect, toolMode }: TurnRequest): boolean =>
  dialect === 'events' ? toolMode !== 'manual' : toolMode === 'auto';

/** Whether the offer depends on the catalog. */
export const needsCatalog = (request: TurnRequest): boolean =>
  request.tools.some(({ type }) => type === 'mcp') || (request.tools.length > 0 && functionsRunHere(request));

function offerFunction(definition: ToolDefinition, request: TurnRequest, catalog: ToolCatalog): OfferedTool {
  const tool = functionsRunHere(request) ? catalog.find(definition.name) : undefined;
  if (tool === undefined || !isForModels(tool)) return { definition };
  const { description = tool.description, parameters = tool.inputSchema } = definition;
  return { definition: { ...definition, description, parameters }, tool };
}
