// Translates Anthropic's messages to ours. An assistant message may contain several rounds, with server calls and their
// results; `readRounds` splits it.
import { anyImage, type ContentBlock, contentText } from '#libs/schemas/content-block.js';
import type { JsonObject } from '#libs/schemas/json.js';
import {
  type ChatMessage,
  type ContentPart,
  type ToolMessage,
  originalOf,
  withOriginal,
} from '#libs/schemas/message.js';
import { roundSeparator } from '../turn/turn-state.js';
import { describeContent, type TypedContent } from '../chat-apis/describe-content.js';
import { readRounds, toCall, type TurnPiece } from '../chat-apis/read-rounds.js';
import type { AssistantBlock, BodyMessage, ResultContent, UserBlock } from './message-request.schema.js';

type ResultBlock = Extract<UserBlock, { type: 'tool_result' }>;
type McpResultBlock = Extract<AssistantBlock, { type: 'mcp_tool_result' }>;
type PartBlock = Exclude<UserBlock, ResultBlock>;
type Document = Extract<PartBlock, { type: 'document' }>;

export interface ReadMessages {
  messages: ChatMessage[];
  paths: Map<ToolMessage, string>;
}

export function readMessages(given: readonly BodyMessage[]): ReadMessages {
  const paths: ReadMessages['paths'] = new Map();
  const messages = given.flatMap((message, index): ChatMessage[] => {
    switch (message.role) {
      case 'system':
        return [{ role: 'system', content: joinedText(message.content) }];
      case 'user':
        return typeof message.content === 'string'
          ? [{ role: 'user', content: message.content }]
          : readUser(message.content, `messages[${index}].content`, paths);
      case 'assistant':
        return typeof message.content === 'string'
          ? [{ role: 'assistant', content: message.content }]
          : readAssistant(message.content, `messages[${index}].content`, paths);
    }
  });
  return { messages, paths };
}

export const joinedText = (content: string | { text: string }[]): string =>
  typeof content === 'string' ? content : content.map(({ text }) => text).join(roundSeparator);

/** Results must come directly after their calls, before other content of the user. */
function readUser(blocks: UserBlock[], path: string, paths: ReadMessages['paths']): ChatMessage[] {
  const results: ToolMessage[] = [];
  const parts: ContentPart[] = [];
  blocks.forEach((block, at) => {
    if (block.type === 'tool_result') {
      const result = readResult(block);
      paths.set(result, `${path}[${at}].tool_use_id`);
      results.push(result);
    } else parts.push(...readPart(block));
  });
  if (parts.length === 0) return results;
  const only = parts.length === 1 && parts[0]!.type === 'text' ? parts[0]!['text'] : undefined;
  return [...results, { role: 'user', content: typeof only === 'string' ? only : parts }];
}

function readPart(block: PartBlock): ContentPart[] {
  if (block.type === 'text') return [{ type: 'text', text: block.text }];
  if (block.type === 'mcp_resource' || block.type === 'mcp_prompt') return [block as ContentPart];
  if (block.type === 'other') return [described(block.given)];
  if (isElsewhere(block)) return [described(block)];
  const { source } = block;
  if (block.type === 'image') {
    const url = source.type === 'url' ? source.url : dataUrl(source as { media_type: string; data: string });
    return [{ type: 'image_url', image_url: { url } }];
  }
  if (source.type === 'base64') {
    const filename = 'title' in block && typeof block.title === 'string' ? block.title : 'document.pdf';
    return [{ type: 'file', file: { filename, file_data: dataUrl(source) } }];
  }
  return [{ type: 'text', text: documentText(block) }];
}

/** Text for other families, and the block as it is for Anthropic. */
const described = (block: TypedContent) =>
  withOriginal({ type: 'text' as const, text: describeContent(block) }, block as JsonObject);

/** A document that only the provider can fetch. */
const isElsewhere = (block: PartBlock): boolean =>
  block.type === 'document' && (block.source.type === 'url' || block.source.type === 'file');

function documentText(block: Document): string {
  const { source, title } = block;
  const text = source.type === 'text' ? source.data : source.type === 'content' ? joinedText(source.content) : '';
  return typeof title === 'string' ? `${title}${roundSeparator}${text}` : text;
}

const dataUrl = ({ media_type, data }: { media_type: string; data: string }) => `data:${media_type};base64,${data}`;

function readResult(block: ResultBlock | McpResultBlock): ToolMessage {
  const blocks = resultBlocks(block.content);
  return {
    role: 'tool',
    tool_call_id: block.tool_use_id,
    content: contentText(blocks),
    // Most families support only text. Other blocks are passed on too, for those that support them.
    ...(blocks.every((each) => each.type === 'text' && originalOf(each) === undefined) ? {} : { blocks }),
    ...(block.is_error === true ? { is_error: true } : {}),
  };
}

function resultBlocks(content: ResultContent): ContentBlock[] {
  if (content === null || content === undefined) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((block): ContentBlock => {
    if (block.type === 'text') return { type: 'text', text: block.text };
    if (block.type === 'other') return described(block.given);
    if (block.type === 'document' && isElsewhere(block)) return described(block);
    if (block.type === 'image') {
      const { source } = block;
      return source.type === 'url'
        ? { type: 'resource_link', uri: source.url, name: 'image', mimeType: anyImage }
        : { type: 'image', data: source.data, mimeType: source.media_type };
    }
    if (block.source.type !== 'base64') return { type: 'text', text: documentText(block) };
    const { data, media_type } = block.source;
    const uri = `document:${typeof block.title === 'string' ? block.title : 'document.pdf'}`;
    return { type: 'resource', resource: { uri, mimeType: media_type, blob: data } };
  });
}

const original = (block: object, isTaken: boolean) => (isTaken ? { block: block as JsonObject } : {});

/** Thinking of other models has no signature, and Anthropic refuses it. */
const isSigned = (block: Record<string, unknown>) =>
  typeof block['signature'] === 'string' && block['signature'] !== '';

function readAssistant(blocks: AssistantBlock[], path: string, paths: ReadMessages['paths']): ChatMessage[] {
  const pieces = blocks.flatMap((block, at): TurnPiece[] => {
    switch (block.type) {
      case 'text':
        return [{ type: 'text', text: block.text, ...original(block, block.text.trim() !== '') }];
      case 'thinking':
        return [{ type: 'reasoning', text: block.thinking, ...original(block, isSigned(block)) }];
      case 'redacted_thinking':
        return [{ type: 'reasoning', text: '', ...original(block, true) }];
      case 'other':
        return [{ type: 'described', text: describeContent(block.given), ...original(block.given, true) }];
      case 'tool_use':
      case 'mcp_tool_use': {
        const call = toCall(block.id, block.name, JSON.stringify(block.input));
        return [{ type: 'call', call, here: block.type === 'mcp_tool_use' }];
      }
      case 'mcp_tool_result': {
        const result = readResult(block);
        paths.set(result, `${path}[${at}].tool_use_id`);
        return [{ type: 'result', result }];
      }
    }
  });
  return readRounds(pieces);
}
