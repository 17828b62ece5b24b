// Decides which tools of a request the model is offered, and who runs each of them.
import { AppError } from '#libs/schemas/errors.js';
import { isForModels } from '#libs/mcp-server/tool-app.js';
import type { CatalogTool, ToolChoice, ToolDefinition } from '#libs/schemas/tool-definition.js';
import type { ToolCatalog } from '../tools/tool-catalog.js';
import { realTool, toolWithin } from '../tools/tool-of-call.js';
import type { ChosenServer, OwnCall, RequestedTool, ToolSelector, TurnRequest } from './turn-request.js';

/** A tool that the model may call. Without `tool`, its calls go back to the caller. */
export interface OfferedTool {
  definition: ToolDefinition;
  tool?: CatalogTool;
  /** The request requires an approval of each call, regardless of the policy. */
  requiresApproval?: boolean;
}

export interface ToolOffer {
  tools: Map<string, OfferedTool>;
  definitions: ToolDefinition[];
  /** Applies to the first round only. */
  toolChoice?: ToolChoice;
  /** The tools of which the model must call one in the first round, which offers no others. */
  firstDefinitions?: ToolDefinition[];
  /** Whether any offered tool runs here. If so, the turn is a run, and the model gets an error for unknown names. */
  runsHere: boolean;
}

/** @throws AppError tool_not_found (400), too_many_tools */
export function offerTools(request: TurnRequest, catalog: ToolCatalog, maxTools: number): ToolOffer {
  if (request.call !== undefined) return offerOwnCall(request.call, catalog);
  const tools = new Map<string, OfferedTool>();
  for (const requested of request.tools) {
    if (requested.type === 'function')
      tools.set(requested.definition.name, offerFunction(requested.definition, request, catalog));
  }
  for (const requested of request.tools) {
    // A function of the same name keeps the caller's own description.
    if (requested.type === 'mcp') offerServer(requested, request, catalog, tools);
  }
  if (tools.size > maxTools) {
    throw new AppError('too_many_tools', `At most ${maxTools} tools, got ${tools.size}`, { param: 'tools' });
  }
  if (request.allowedTools !== undefined) {
    const allowed = new Set(request.allowedTools.flatMap((choice) => namesOf(choice, tools, catalog)));
    for (const name of tools.keys()) if (!allowed.has(name)) tools.delete(name);
  }
  const offered = [...tools.values()];
  return {
    tools,
    definitions: offered.map((each) => each.definition),
    ...chosen(request.toolChoice, tools, catalog),
    runsHere: offered.some((each) => each.tool !== undefined),
  };
}

/** The one tool, under the name that the caller wrote and under its own; nothing for an unknown tool, which planning refuses. */
function offerOwnCall({ name, timeoutMs }: OwnCall, catalog: ToolCatalog): ToolOffer {
  const tools = new Map<string, OfferedTool>();
  const found = catalog.find(name);
  if (found !== undefined) {
    const offered = { definition: definitionOf(found), tool: toolWithin(found, timeoutMs) };
    tools.set(name, offered).set(found.name, offered);
  }
  return { tools, definitions: [], runsHere: true };
}

type Offered = ReadonlyMap<string, OfferedTool>;

/** @throws AppError tool_not_found (400) */
function chosen(
  choice: TurnRequest['toolChoice'],
  tools: Offered,
  catalog: ToolCatalog,
): Pick<ToolOffer, 'toolChoice' | 'firstDefinitions'> {
  if (choice === undefined) return {};
  if (typeof choice === 'string') return { toolChoice: choice };
  const names = namesOf(choice, tools, catalog);
  if (names.length === 1) return { toolChoice: { name: names[0]! } };
  return { toolChoice: 'required', firstDefinitions: names.map((name) => tools.get(name)!.definition) };
}

/** The offered tools of a choice. @throws AppError tool_not_found (400) */
function namesOf(choice: { name: string } | ChosenServer, tools: Offered, catalog: ToolCatalog): string[] {
  if (!('server' in choice)) {
    if (!tools.has(choice.name)) throw toolNotFound(choice.name, 'tool_choice');
    return [choice.name];
  }
  const { server, name } = choice;
  const names = catalog
    .list(server === '*' ? undefined : server)
    .filter((tool) => tools.has(tool.name) && (name === undefined || name === tool.name || name === tool.tool))
    .map((tool) => tool.name);
  if (names.length > 0) return names;
  if (name !== undefined) throw toolNotFound(name, 'tool_choice');
  throw new AppError('tool_not_found', `tools contains no tool of server '${server}'`, {
    http: 400,
    param: 'tool_choice',
  });
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

type McpTool = Extract<RequestedTool, { type: 'mcp' }>;

function offerServer(
  requested: McpTool,
  request: TurnRequest,
  catalog: ToolCatalog,
  tools: Map<string, OfferedTool>,
): void {
  const every = requested.serverLabel === '*';
  if (!every && !catalog.hasServer(requested.serverLabel)) {
    const reason = 'none of this name is configured, or it has not been ready yet';
    const message = `Server '${requested.serverLabel}' not found: ${reason}`;
    throw new AppError('tool_not_found', message, { http: 400, param: 'tools' });
  }
  const listed = catalog.list(every ? undefined : requested.serverLabel);
  const allowed = requested.allowedTools === undefined ? undefined : new Set(requested.allowedTools);
  const denied = new Set(requested.deniedTools);
  for (const name of [...(allowed ?? []), ...denied]) {
    if (!listed.some((tool) => (tool.name === name || tool.tool === name) && isForModels(tool)))
      throw toolNotFound(name, 'tools');
  }
  for (const tool of listed) {
    if (allowed !== undefined && !allowed.has(tool.name) && !allowed.has(tool.tool)) continue;
    if (denied.has(tool.name) || denied.has(tool.tool) || tools.has(tool.name) || !isForModels(tool)) continue;
    const definition = definitionOf(tool);
    if (request.toolMode === 'manual') tools.set(tool.name, { definition });
    else {
      const offered = { definition, tool: realTool(tool) };
      tools.set(tool.name, needsApproval(requested, tool) ? { ...offered, requiresApproval: true } : offered);
    }
  }
}

function needsApproval({ requireApproval: asked }: McpTool, tool: CatalogTool): boolean {
  if (asked === undefined || asked === 'always') return asked === 'always';
  return asked.always === undefined ? !isAmong(asked.never, tool) : isAmong(asked.always, tool);
}

function isAmong(filter: ToolSelector | undefined, { name, tool, readOnly }: CatalogTool): boolean {
  if (filter === undefined) return false;
  const { toolNames, readOnly: asked } = filter;
  return (
    (toolNames === undefined || toolNames.includes(name) || toolNames.includes(tool)) &&
    (asked === undefined || asked === readOnly)
  );
}

/** One definition object per catalog tool: each model's form of a definition is cached by that object. */
const definitions = new WeakMap<CatalogTool, ToolDefinition>();

function definitionOf(tool: CatalogTool): ToolDefinition {
  const known = definitions.get(tool);
  if (known !== undefined) return known;
  const definition = { name: tool.name, description: tool.description, parameters: tool.inputSchema };
  definitions.set(tool, definition);
  return definition;
}

function toolNotFound(name: string, param: string): AppError {
  return new AppError('tool_not_found', `Tool '${name}' not found`, { http: 400, param, toolName: name });
}
