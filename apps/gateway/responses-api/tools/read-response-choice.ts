// Reads `tool_choice` of a responses request: by name, by server, by namespace, and among allowed tools.
import { AppError } from '#libs/schemas/errors.js';
import type { ChosenServer, TurnRequest } from '../../turn/turn-request.js';
import { readMcpChoice } from '../../chat-apis/mcp-tool.js';
import type { ReadTools } from './read-response-tools.js';
import type { BodyToolChoice } from '../response-request.schema.js';

type Choice = Pick<TurnRequest, 'toolChoice' | 'allowedTools' | 'providerTools'>;
type Named = Extract<Exclude<BodyToolChoice, string>, { type: 'allowed_tools' }>['tools'][number];

/** The choice, and the provider's tools that it allows. @throws AppError tool_not_found (400) */
export function readResponseChoice(choice: BodyToolChoice | undefined, read: ReadTools): Choice {
  const { providerTools } = read;
  const all: Choice = providerTools.length === 0 || choice === 'none' ? {} : { providerTools };
  if (choice === undefined) return all;
  if (typeof choice === 'string') return { ...all, toolChoice: choice };
  if (choice.type === 'allowed_tools') return { ...allowed(choice.tools, read), toolChoice: choice.mode };
  if (choice.type !== 'other') return { ...all, toolChoice: readNamed(choice, read) };
  const { type } = choice.given;
  if (read.leftOut.has(type)) return all;
  if (!providerTools.some(({ tool }) => tool.type === type)) throw notOffered(type);
  return { providerTools: providerTools.map((each) => (each.tool.type === type ? { ...each, chosen: true } : each)) };
}

function allowed(tools: readonly Named[], read: ReadTools): Choice {
  const { names } = read;
  const types = new Set<string>();
  const allowedTools = tools.flatMap((tool): ({ name: string } | ChosenServer)[] => {
    if (tool.type !== 'other') return [readNamed(tool, read)];
    const { type, name } = tool.given;
    if (type === 'namespace') return names.within(String(name)).map((each) => ({ name: each }));
    if (!read.leftOut.has(type) && !read.providerTools.some((each) => each.tool.type === type)) throw notOffered(type);
    types.add(type);
    return [];
  });
  const providerTools = read.providerTools.filter(({ tool }) => types.has(tool.type));
  return { allowedTools, ...(providerTools.length === 0 ? {} : { providerTools }) };
}

function readNamed(
  choice: Exclude<Named, { type: 'other' }>,
  { tools, names }: ReadTools,
): { name: string } | ChosenServer {
  if (choice.type === 'mcp') return readMcpChoice(choice);
  const { name, namespace } = choice;
  if (namespace != null) return { name: names.join(namespace, name) };
  const isPlain = tools.some((tool) => tool.type === 'function' && tool.definition.name === name);
  const joined = isPlain ? [] : names.named(name);
  return { name: joined.length === 1 ? joined[0]! : name };
}

const notOffered = (type: string) =>
  new AppError('tool_not_found', `tools has none of type '${type.slice(0, 64)}'`, { http: 400, param: 'tool_choice' });
