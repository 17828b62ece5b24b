// Translates a history to Gemini's contents: alternating roles, all results of a model content first in the user content after
// it, and signatures on their own parts.
import type { AssistantMessage, MessageContent, ToolCall, ToolMessage } from '#libs/schemas/message.js';
import { messageText } from '#libs/schemas/message.js';
import { isJsonObject, jsonObjectOf, type Json, type JsonObject } from '#libs/schemas/json.js';
import { notTaken, plainMediaType, toSentPart, type DataPart } from '../conversation/media-types.js';
import { readContent, readToolMessage } from '../conversation/read-content-part.js';
import type { AssistantGroup, Conversation, UserGroup } from '../conversation/read-conversation.js';
import type { ToolNames } from '../conversation/tool-names.js';
import type { Warnings } from '../conversation/warnings.js';

export interface GeminiContentRules {
  /** Only the `provider_state` of this provider is read. */
  provider: string;
  names: ToolNames;
  model: string;
  warnings: Warnings;
  /** Whether the model refuses calls of the current turn without a signature. */
  wantsSignatures: boolean;
}

export interface GeminiContent {
  role: 'user' | 'model';
  parts: JsonObject[];
}

/** By the caller's id of a call: the tool's name at the provider, and the provider's id of the call if it has one. */
type CalledTools = Map<string, { name: string; id?: Json }>;

/** In place of a blank message: the API refuses contents without parts. */
const nothingSaid = { text: '…' };

/** Signs calls by other models: https://ai.google.dev/gemini-api/docs/thought-signatures */
const foreignSignature = 'skip_thought_signature_validator';

export function toGeminiContents({ groups }: Conversation, rules: GeminiContentRules): GeminiContent[] {
  const contents: GeminiContent[] = [];
  const called: CalledTools = new Map();
  const underWay = groups.findLastIndex((group) => group.role === 'user' && group.messages.length > 0);
  groups.forEach((group, at) => {
    const isUser = group.role === 'user';
    const parts = isUser ? userParts(group, called, rules) : modelParts(group, called, rules);
    if (!isUser && rules.wantsSignatures && at > underWay) signForeign(parts);
    // Without a user content the request would end with the model's.
    if (parts.length === 0 && isUser && at === groups.length - 1) parts.push(nothingSaid);
    if (parts.length > 0) contents.push({ role: isUser ? 'user' : 'model', parts });
  });
  return contents.length > 0 ? contents : [{ role: 'user', parts: [nothingSaid] }];
}

function userParts(group: UserGroup, called: CalledTools, rules: GeminiContentRules): JsonObject[] {
  const media: JsonObject[] = [];
  const responses = group.results.map((result) => {
    for (const part of readToolMessage(result)) {
      if (part.kind === 'data') media.push(...mediaParts(part, rules, false));
    }
    const { name, id } = called.get(result.tool_call_id) ?? { name: 'unknown' };
    return { functionResponse: { ...(id !== undefined && { id }), name, response: toResponse(result) } };
  });
  return [...responses, ...media, ...group.messages.flatMap(({ content }) => toParts(content, rules))];
}

/** The API requires an object. */
function toResponse(result: ToolMessage): JsonObject {
  const said = messageText(result.content);
  return result.is_error === true ? { error: said } : { output: said };
}

function modelParts(group: AssistantGroup, called: CalledTools, rules: GeminiContentRules): JsonObject[] {
  return group.messages.flatMap((message) => {
    const calls = message.tool_calls ?? [];
    for (const call of calls) called.set(call.id, { name: rules.names.toWire(call.function.name) });
    const stored = stateOf(message, rules.provider);
    const rest = new Set(calls);
    const parts = (stored ?? []).flatMap((part) => {
      const { call: number, ...beside } = part;
      if (number === undefined) return [part];
      const call = calls[Number(number)];
      return call !== undefined && rest.delete(call) ? [callPart(call, beside, called)] : [];
    });
    const said = stored === undefined ? toParts(message.content, rules) : parts;
    return [...said, ...[...rest].map((call) => callPart(call, offered(call), called))];
  });
}

/** `id` and `thoughtSignature` are the provider's. */
function callPart(call: ToolCall, { id, thoughtSignature }: JsonObject, called: CalledTools): JsonObject {
  const { name } = called.get(call.id)!;
  if (id !== undefined) called.set(call.id, { name, id });
  return {
    functionCall: { ...(id !== undefined && { id }), name, args: jsonObjectOf(call.function.arguments) },
    ...(thoughtSignature !== undefined && { thoughtSignature }),
  };
}

/** The stored parts, with calls as positions in the message's `tool_calls`. */
function stateOf(message: AssistantMessage, provider: string): JsonObject[] | undefined {
  const state = message.provider_state;
  const parts = state?.provider === provider ? state.state['parts'] : undefined;
  return Array.isArray(parts) ? parts.filter(isJsonObject) : undefined;
}

/** `extra_content.google.thought_signature`, which a client may send back if there is no stored state. */
function offered(call: ToolCall): JsonObject {
  const extra = call.extra_content;
  const google = isJsonObject(extra) ? extra['google'] : undefined;
  const signature = isJsonObject(google) ? google['thought_signature'] : undefined;
  return typeof signature === 'string' ? { thoughtSignature: signature } : {};
}

function signForeign(parts: JsonObject[]): void {
  const first = parts.find((part) => part['functionCall'] !== undefined);
  if (first !== undefined) first['thoughtSignature'] ??= foreignSignature;
}

function toParts(content: MessageContent | null, rules: GeminiContentRules): JsonObject[] {
  return readContent(content).flatMap((part): JsonObject[] => {
    switch (part.kind) {
      case 'text':
        return part.text === '' ? [] : [{ text: part.text }];
      case 'data':
        return mediaParts(part, rules);
      case 'url':
        return [{ fileData: { fileUri: part.url, ...mediaTypeOf(part.url) } }];
      case 'other':
        rules.warnings.add(notTaken(rules.model, `${part.type} content`), 'messages');
        return [{ text: `[${part.type}]` }];
    }
  });
}

/** `describes`: parts that are not taken are named here; a function response names them itself. */
function mediaParts(part: DataPart, { model, warnings }: GeminiContentRules, describes = true): JsonObject[] {
  const sent = toSentPart('gemini', part);
  if (!('text' in sent)) return [{ inlineData: { mimeType: sent.mediaType, data: sent.data } }];
  if (sent.described) {
    warnings.add(notTaken(model, plainMediaType(part.mediaType)), 'messages');
    return describes ? [{ text: sent.text }] : [];
  }
  return [{ text: part.name === undefined ? sent.text : `${part.name}:\n${sent.text}` }];
}

const mediaTypes: Record<string, string> = {
  gif: 'image/gif',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  mp3: 'audio/mp3',
  mp4: 'video/mp4',
  pdf: 'application/pdf',
  png: 'image/png',
  wav: 'audio/wav',
  webp: 'image/webp',
};

function mediaTypeOf(url: string): { mimeType?: string } {
  const ending = /\.([a-z0-9]{2,5})(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase() ?? '';
  const mimeType = Object.hasOwn(mediaTypes, ending) ? mediaTypes[ending] : undefined;
  return mimeType === undefined ? {} : { mimeType };
}
