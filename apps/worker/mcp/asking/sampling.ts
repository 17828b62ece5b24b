// Reads and bounds a server's requests to models during a call (`sampling/createMessage`). Refuses tools and audio, which are
// not supported.
import {
  ProtocolError,
  ProtocolErrorCode,
  type CreateMessageRequestParams,
  type CreateMessageResult,
  type SamplingMessageContentBlock,
} from '@modelcontextprotocol/client';
import {
  defaultSampledTokens,
  maxSamplingBytes,
  samplingRequestSchema,
  type SamplingAnswer,
  type SamplingRequest,
} from '#libs/waits/sampling-request.js';
import type { ServerConfig } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import { refused } from './elicitation.js';

export interface SamplingSettings {
  models?: readonly string[] | undefined;
  maxTokens: number;
}

/** Further hints are ignored. */
const maxHints = 10;

/** Undefined: the server may ask no model. */
export function samplingOf({ sampling }: Pick<ServerConfig, 'sampling'>): SamplingSettings | undefined {
  if (sampling === false) return undefined;
  if (sampling === true) return { maxTokens: defaultSampledTokens };
  return { models: sampling.models, maxTokens: sampling.max_tokens };
}

/** @throws ProtocolError if the request is not supported */
export function readSampling(params: CreateMessageRequestParams, settings: SamplingSettings): SamplingRequest {
  const { messages, modelPreferences, maxTokens, tools } = params;
  if (tools !== undefined && tools.length > 0) throw refused('sampling with tools is not supported');
  const read = samplingRequestSchema.safeParse({
    ...params,
    messages: messages.map(({ role, content }) => ({ role, content: [content].flat().map(readBlock) })),
    hints: modelPreferences?.hints?.slice(0, maxHints).flatMap(({ name }) => name ?? []) ?? [],
    models: settings.models,
    maxTokens: Math.min(maxTokens, settings.maxTokens),
  });
  if (!read.success) throw refused('sampling needs at least one message, and at least one token');
  if (Buffer.byteLength(JSON.stringify(read.data)) > maxSamplingBytes) {
    throw refused(`a sampling request may have at most ${maxSamplingBytes} bytes`);
  }
  return read.data;
}

/** @throws ProtocolError if no model answered */
export function toSamplingResult(answer: SamplingAnswer): CreateMessageResult {
  if ('refused' in answer) throw new ProtocolError(ProtocolErrorCode.InternalError, answer.refused);
  const { model, text, stopReason } = answer;
  return { role: 'assistant', model, stopReason, content: { type: 'text', text } };
}

const invalidParams: number = ProtocolErrorCode.InvalidParams;
/** Whether the request was refused for its size, number or content. */
export const isOverBounds = (error: unknown): boolean =>
  error instanceof AppError || (error instanceof ProtocolError && error.code === invalidParams);

function readBlock(block: SamplingMessageContentBlock): SamplingMessageContentBlock {
  if (block.type === 'text' || block.type === 'image') return block;
  throw refused(`sampling supports text and images, not '${block.type}'`);
}
