// Reads the resources and prompts that the messages of a chat mention, as their caller, and puts what was read in their place. A
// retry with its key gets what was read the first time.
import type { Config } from '#libs/config/schema.js';
import type { RunStore } from '#libs/runs/run-store.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { type ContentBlock, contentBlockSchema, contentText } from '#libs/schemas/content-block.js';
import { AppError, errorTable } from '#libs/schemas/errors.js';
import type { Json } from '#libs/schemas/json.js';
import type { ChatMessage, ContentPart, UserMessage } from '#libs/schemas/message.js';
import { plainMediaType } from '../../models/conversation/media-types.js';
import { isOfferPart, type OfferPart } from '../../turn/offer-parts.js';
import { hashRequest } from '../../turn/runs/new-run.js';
import { requestOf, type TurnRequest } from '../../turn/turn-request.js';
import { defaultSessionId } from '../caller-of.js';
import type { CallerOffers, OfferAsker, ResourceContent } from './caller-offers.js';

export interface MentionedOffersPorts {
  offers: Pick<CallerOffers, 'read' | 'prompt'>;
  runs: Pick<RunStore, 'ofKey'>;
  limits: Pick<Config['limits'], 'calls' | 'body_bytes'>;
}

/** What stands in place of a part: content of the same message, or messages of their own. */
type Read = { parts: ContentPart[] } | { messages: ChatMessage[] };

interface Mention {
  part: OfferPart;
  /** Where the part is, for errors. */
  param: string;
}

export class MentionedOffers {
  constructor(private readonly ports: MentionedOffersPorts) {}

  /** @throws AppError invalid_value, not_found, request_too_large; or why no tool server can be asked */
  async read(turn: TurnRequest, context: RequestContext, idempotencyKey?: string): Promise<TurnRequest> {
    if (idempotencyKey === undefined) return { ...turn, messages: await this.messages(turn, context) };
    const sentHash = hashRequest(turn);
    const stored = await this.ports.runs.ofKey(context.principal, idempotencyKey);
    if (stored === undefined) return { ...turn, messages: await this.messages(turn, context), sentHash };
    // Whoever begins the run refuses another request with the key of this one.
    return stored.requestHash === sentHash ? requestOf(stored) : { ...turn, sentHash };
  }

  private async messages(turn: TurnRequest, context: RequestContext): Promise<ChatMessage[]> {
    const mentions = mentionsOf(turn, this.ports.limits.calls);
    const reading = new AbortController();
    const stop = () => reading.abort(context.signal.reason);
    context.signal.addEventListener('abort', stop, { once: true });
    try {
      context.signal.throwIfAborted();
      const asker = {
        caller: { ...context, signal: reading.signal },
        sessionId: turn.sessionId ?? defaultSessionId,
      };
      const entries = [...mentions].map(async ([key, mention]) => [key, await this.readOne(mention, asker)] as const);
      const read = new Map(await Promise.all(entries));
      return this.placed(turn.messages, (part) => read.get(keyOf(part))!);
    } finally {
      context.signal.removeEventListener('abort', stop);
      // After a failure the other reads are of no use.
      reading.abort(new AppError('cancelled', 'Another part of the request could not be read'));
    }
  }

  private async readOne({ part, param }: Mention, asker: OfferAsker): Promise<Read> {
    const server = part.server ?? undefined;
    try {
      if (part.type === 'mcp_prompt') {
        const asked = { name: part.name, server, arguments: part.arguments ?? {} };
        return { messages: toMessages(await this.ports.offers.prompt(asked, asker), part.name) };
      }
      const contents = await this.ports.offers.read({ uri: part.uri, server }, asker);
      return { parts: contents.length === 0 ? [textPart(`[resource ${part.uri}]`)] : contents.map(toPart) };
    } catch (error) {
      throw asker.caller.signal.aborted ? error : refusalOfPart(error, { part, param });
    }
  }

  private placed(messages: readonly ChatMessage[], readOf: (part: OfferPart) => Read): ChatMessage[] {
    const { body_bytes: maxBytes } = this.ports.limits;
    let bytes = 0;
    return messages.flatMap((message): ChatMessage[] => {
      if (message.role !== 'user' || typeof message.content === 'string') return [message];
      return withRead(message, message.content, (part) => {
        const read = readOf(part);
        bytes += Buffer.byteLength(JSON.stringify(read));
        if (bytes <= maxBytes) return read;
        throw new AppError('request_too_large', `The resources and prompts have more than ${maxBytes} bytes`, {
          param: 'messages',
        });
      });
    });
  }
}

/** Equal parts are read once. @throws AppError invalid_value for too many, and for one that is not of a user */
function mentionsOf({ messages, dialect }: TurnRequest, most: number): Map<string, Mention> {
  const mentions = new Map<string, Mention>();
  // Other dialects have other messages than these, so their parts are named by what they mention alone.
  const keepsPlaces = dialect === 'openai' || dialect === 'events';
  messages.forEach(({ role, content }, at) => {
    if (content === null || typeof content === 'string') return;
    content.forEach((part, index) => {
      if (!isOfferPart(part)) return;
      const param = keepsPlaces ? `messages[${at}].content[${index}]` : dialect === 'responses' ? 'input' : 'messages';
      if (role !== 'user') {
        throw new AppError('invalid_value', `${param}: ${part.type} is only allowed in a user message`, { param });
      }
      const key = keyOf(part);
      if (!mentions.has(key)) mentions.set(key, { part, param });
      if (mentions.size <= most) return;
      throw new AppError('invalid_value', `At most ${most} resources and prompts in a request`, { param });
    });
  });
  return mentions;
}

const keyOf = (part: OfferPart): string => JSON.stringify(part);

/** A prompt has messages of its own: what stands before and after it stays around them. */
function withRead(
  message: UserMessage,
  content: readonly ContentPart[],
  readOf: (part: OfferPart) => Read,
): ChatMessage[] {
  const messages: ChatMessage[] = [];
  let parts: ContentPart[] = [];
  const endMessage = () => {
    if (parts.length > 0) messages.push({ ...message, content: parts });
    parts = [];
  };
  for (const part of content) {
    const read = isOfferPart(part) ? readOf(part) : { parts: [part] };
    if ('parts' in read) parts.push(...read.parts);
    else {
      endMessage();
      messages.push(...read.messages);
    }
  }
  endMessage();
  return messages;
}

/** The failure of a tool server is an invalid part here, except where its caller has to sign in; what says nothing about the part stays as it is. */
function refusalOfPart(error: unknown, { part, param }: Mention): unknown {
  if (!(error instanceof AppError)) return error;
  const { http } = errorTable[error.code];
  if (http === 404 || http === 403 || error.code === 'connection_needed')
    return new AppError(error.code, `${param}: ${error.message}`, { param });
  if (http !== 422) return error;
  const name = part.type === 'mcp_prompt' ? part.name : part.uri;
  const message = `${param}: '${name.slice(0, 256)}' could not be read: ${error.message}`;
  return new AppError('invalid_value', message, { param });
}

const textPart = (text: string): ContentPart => ({ type: 'text', text });

function toPart({ uri, mimeType = 'application/octet-stream', text, blob }: ResourceContent): ContentPart {
  if (blob === undefined) return textPart(`${uri}\n\n${text ?? ''}`);
  return dataPart(mimeType, blob, uri.split(/[/:]/).findLast((each) => each !== '') ?? 'resource');
}

/** Adapters of providers decide by the media type what their models take. */
function dataPart(mimeType: string, data: string, filename: string): ContentPart {
  const plain = plainMediaType(mimeType);
  // It comes from a tool server, and must not end the URL that it is written into.
  const type = /^[\w.+-]+\/[\w.+-]+$/.test(plain) ? plain : 'application/octet-stream';
  if (type.startsWith('audio/')) return { type: 'input_audio', input_audio: { data, format: type.slice(6) } };
  const url = `data:${type};base64,${data}`;
  if (type.startsWith('image/')) return { type: 'image_url', image_url: { url } };
  return { type: 'file', file: { filename, file_data: url } };
}

function blockPart(block: ContentBlock): ContentPart {
  if (block.type === 'image' || block.type === 'audio') return dataPart(block.mimeType, block.data, block.type);
  return block.type === 'resource' ? toPart(block.resource) : textPart(contentText([block]));
}

/** The worker has checked the prompt. @throws AppError invalid_tool_result for one without messages */
function toMessages(prompt: Json, name: string): ChatMessage[] {
  const { messages } = prompt as unknown as { messages: { role: 'user' | 'assistant'; content: unknown }[] };
  if (messages.length === 0) throw new AppError('invalid_tool_result', `The prompt '${name.slice(0, 256)}' is empty`);
  return messages.map(({ role, content }) => {
    const part = blockPart(contentBlockSchema.parse(content));
    return { role, content: part.type === 'text' ? (part['text'] as string) : [part] };
  });
}
