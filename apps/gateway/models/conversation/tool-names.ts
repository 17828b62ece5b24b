// The names of tools at a model's provider, and all those of a request.
import { mapNames, type NameMapping, type NameRule, strictNames } from '#libs/names/map-names.js';
import type { ModelRequest } from '../model-provider.js';

export type ToolNames = NameMapping;
export type ToolNameRule = NameRule;

export const openAiToolNames: ToolNameRule = strictNames;

/** OpenAI's rule, but names must not start with a digit or a dash. */
export const geminiToolNames: ToolNameRule = { ...openAiToolNames, valid: /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/ };

/** `names`: every name of the request, offered or in its history, in any order. */
export const mapToolNames = (names: Iterable<string>, rule: ToolNameRule = openAiToolNames): ToolNames =>
  mapNames(names, rule);

/** Every tool name of a request: offered, or called in its history. */
export function namesIn(request: Pick<ModelRequest, 'tools' | 'messages'>): string[] {
  const names = request.tools.map(({ name }) => name);
  for (const message of request.messages) {
    if (message.role !== 'assistant' || message.tool_calls === undefined) continue;
    for (const call of message.tool_calls) names.push(call.function.name);
  }
  return names;
}
