// Parses a posted body as JSON-RPC messages. An invalid one is refused here as a whole, before any handler runs.
import {
  PROTOCOL_VERSION_META_KEY,
  isInitializeRequest,
  isJSONRPCRequest,
  parseJSONRPCMessage,
  type JSONRPCMessage,
  type JSONRPCRequest,
} from '@modelcontextprotocol/server';
import { AppError } from '#libs/schemas/errors.js';

/** Larger batches are refused; the protocol has no batches since 2025-06-18. Each message may list all tools. */
const maxBatch = 16;

/** Requests that run something. */
const calls = ['tools/call', 'resources/read', 'resources/subscribe', 'prompts/get', 'completion/complete'];

export interface McpFrames {
  messages: readonly JSONRPCMessage[];
  requests: readonly JSONRPCRequest[];
  batch: boolean;
  calls: boolean;
  /** Whether the answer is a stream that ends only when its reader disconnects. */
  listens: boolean;
  /** Whether the answer only waits for what goes on without it. */
  waits: boolean;
}

/** @throws AppError invalid_json, invalid_value */
export function readFrames(body: unknown): McpFrames {
  if (body === undefined || body === null) throw new AppError('invalid_json', 'The body is empty');
  const batch = Array.isArray(body);
  const given: unknown[] = batch ? body : [body];
  if (given.length === 0) throw new AppError('invalid_value', 'The batch is empty');
  if (given.length > maxBatch) throw new AppError('invalid_value', `A batch may have at most ${maxBatch} messages`);
  const messages = given.map(readMessage);
  const requests = messages.filter((message) => isJSONRPCRequest(message));
  if (new Set(requests.map(({ id }) => id)).size < requests.length) {
    throw new AppError('invalid_value', 'Two requests of this batch have the same id', { param: 'id' });
  }
  const asksFor = (wanted: string) => requests.some(({ method }) => method === wanted);
  const listens = asksFor('subscriptions/listen');
  const waits = listens || asksFor('tasks/result');
  return { messages, requests, batch, calls: calls.some(asksFor), listens, waits };
}

export const bodyOf = ({ messages, batch }: McpFrames): unknown => (batch ? messages : messages[0]);

function readMessage(given: unknown): JSONRPCMessage {
  let message: JSONRPCMessage;
  try {
    message = parseJSONRPCMessage(given);
  } catch {
    throw new AppError('invalid_value', 'This is not a JSON-RPC 2.0 message');
  }
  const greets = 'method' in message && message.method === 'initialize' && !namesRevision(message);
  if (greets && !isInitializeRequest(message)) {
    throw new AppError('invalid_value', 'initialize needs protocolVersion, capabilities and clientInfo', {
      param: 'params',
    });
  }
  return message;
}

/** Whether the request names its revision, as all do since 2026-07-28, which has no `initialize`. */
function namesRevision({ params }: { params?: { _meta?: object | undefined } | undefined }): boolean {
  return params?._meta !== undefined && PROTOCOL_VERSION_META_KEY in params._meta;
}
