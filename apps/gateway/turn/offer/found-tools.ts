// What `find_tools` tells a model, and what of it can be read again from a conversation or from the journal: the result itself says
// which tools a session knows, so nothing else is stored.
import { isJsonObject, jsonObjectOf, textOrEmpty } from '#libs/schemas/json.js';
import { type ChatMessage, messageText } from '#libs/schemas/message.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import type { OfferedTool } from './offered-tool.js';

const maxDescription = 400;
const maxParameters = 20;
const nothingFound = 'No tool fits this query. Try other words, or fewer.';

/** JSON; the whole definitions follow with the next model call. */
export const foundText = (found: readonly OfferedTool[]): string =>
  JSON.stringify({
    tools: found.map(({ definition, tool }) => ({
      name: definition.name,
      server: tool?.server,
      description: shortened(definition.description ?? ''),
      parameters: parametersOf(definition),
    })),
    ...(found.length === 0 ? { message: nothingFound } : {}),
  });

/** The names in a result of `find_tools`. Of a text that is none: nothing. */
export function namesFound(text: string): string[] {
  const { tools } = jsonObjectOf(text);
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool) => (isJsonObject(tool) && typeof tool['name'] === 'string' ? [tool['name']] : []));
}

/** The tools that messages call, and those that results of `search` in them name, from the message at `from` on. */
export function namedIn(messages: readonly ChatMessage[], from: number, search: string): string[] {
  const searches = new Set<string>();
  const names: string[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role === 'assistant') {
      for (const { id, function: called } of message.tool_calls ?? []) {
        if (called.name === search) searches.add(id);
        else if (at >= from) names.push(called.name);
      }
    } else if (at >= from && message.role === 'tool' && searches.has(message.tool_call_id)) {
      names.push(...namesFound(messageText(message.content)));
    }
  }
  return names;
}

const shortened = (text: string): string => (text.length > maxDescription ? `${text.slice(0, maxDescription)}…` : text);

/** Names with their types; `?` marks those that may be left out. */
function parametersOf({ parameters }: ToolDefinition): string[] {
  const properties = parameters?.['properties'];
  if (!isJsonObject(properties)) return [];
  const required = new Set(Array.isArray(parameters!['required']) ? parameters!['required'] : []);
  const names = Object.keys(properties);
  const shown = names.slice(0, maxParameters).map((name) => {
    const property = properties[name];
    const type = isJsonObject(property) ? textOrEmpty(property['type']) : '';
    return `${name}${required.has(name) ? '' : '?'}${type === '' ? '' : `: ${type}`}`;
  });
  return names.length > maxParameters ? [...shown, '…'] : shown;
}
