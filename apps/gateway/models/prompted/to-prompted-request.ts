// Rewrites a request for models without tool use: the rules go into the system message, calls and results of the history
// become text, and `tools` and `tool_choice` are removed.
import { parseJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { AssistantMessage, ChatMessage, ContentPart, MessageContent, ToolMessage } from '#libs/schemas/message.js';
import { messageText } from '#libs/schemas/message.js';
import { formBesideTools, readResponseFormat } from '../conversation/read-response-format.js';
import { labelled, resultContent } from '../conversation/result-pictures.js';
import type { ModelRequest } from '../model-provider.js';
import { noFunctionsRule, renderCall, renderResult, writeFunctionRules } from './write-function-rules.js';

export interface PromptedRequest {
  request: ModelRequest;
  offered: Set<string>;
  /** Whether the answer may contain calls; if not, it is plain text. */
  mayCall: boolean;
  formInWords?: true;
}

/** `takesPictures`: whether pictures in results go out as such; else their text names them. */
export function toPromptedRequest(request: ModelRequest, takesPictures: boolean): PromptedRequest {
  const { toolChoice, parallelToolCalls, tools: given, ...rest } = request;
  const tools = toolChoice === 'none' ? [] : given;
  const messages = renderHistory(request.messages, takesPictures);
  const called = messages.some((message, at) => message !== request.messages[at]);
  const rules =
    tools.length > 0
      ? writeFunctionRules({
          tools,
          ...(toolChoice !== undefined && toolChoice !== 'none' && { toolChoice }),
          ...(parallelToolCalls !== undefined && { parallelToolCalls }),
        })
      : called
        ? noFunctionsRule
        : undefined;
  // A model that is held to a form cannot write calls.
  const form = tools.length > 0 ? formBesideTools(readResponseFormat(rest.parameters)) : undefined;
  const said = [rules, form].filter((text) => text !== undefined).join('\n\n');
  return {
    request: {
      ...rest,
      ...(form !== undefined && { parameters: withoutForm(rest.parameters) }),
      tools: [],
      messages: said === '' ? messages : withRules(messages, said),
    },
    ...(form !== undefined && { formInWords: true as const }),
    offered: new Set(tools.map(({ name }) => name)),
    mayCall: rules !== undefined,
  };
}

function withoutForm(parameters: JsonObject): JsonObject {
  const { response_format: _, ...others } = parameters;
  return others;
}

function withRules(messages: ChatMessage[], rules: string): ChatMessage[] {
  const at = messages.findIndex(({ role }) => role === 'system' || role === 'developer');
  const system = messages[at];
  if (system === undefined) return [{ role: 'system', content: rules }, ...messages];
  return messages.with(at, { ...system, content: appended(system.content ?? '', rules) });
}

function appended(content: MessageContent, text: string): MessageContent {
  if (typeof content !== 'string') return [...content, { type: 'text', text }];
  return content === '' ? text : `${content}\n\n${text}`;
}

/** Messages that need no change are returned as the same objects. */
function renderHistory(messages: readonly ChatMessage[], takesPictures: boolean): ChatMessage[] {
  const names = new Map<string, string>();
  const rendered: ChatMessage[] = [];
  let results: ToolMessage[] = [];
  const flush = () => {
    if (results.length > 0) rendered.push({ role: 'user', content: renderResults(results, names, takesPictures) });
    results = [];
  };
  for (const message of messages) {
    if (message.role === 'tool') {
      results.push(message);
      continue;
    }
    flush();
    rendered.push(message.role === 'assistant' ? renderCalls(message, names) : message);
  }
  flush();
  return rendered;
}

function renderCalls(message: AssistantMessage, names: Map<string, string>): AssistantMessage {
  // Members for API calls have no place in a text.
  const { tool_calls: calls = [], provider_state: _, ...rest } = message;
  if (calls.length === 0) return message;
  for (const call of calls) names.set(call.id, call.function.name);
  const blocks = calls.map(({ function: { name, arguments: text } }) =>
    renderCall(name, parseJsonObject(text) ? text : JSON.stringify(text)),
  );
  const text = messageText(message.content);
  return { ...rest, content: [...(text === '' ? [] : [text]), ...blocks].join('\n') };
}

function renderResults(
  results: readonly ToolMessage[],
  names: ReadonlyMap<string, string>,
  takesPictures: boolean,
): MessageContent {
  const pictures: ContentPart[] = [];
  const text = results
    .map((message) =>
      renderResult({
        name: names.get(message.tool_call_id) ?? 'function',
        text: messageText(resultContent(message, takesPictures, pictures)),
        failed: message.is_error === true,
      }),
    )
    .join('\n');
  return pictures.length === 0 ? text : [{ type: 'text', text }, ...labelled(pictures)];
}
