// Requests of a tool server to a model while a call of it runs (MCP sampling), and their answers. Pure.
import { z } from 'zod';
import type { Wait } from './wait.js';

const blockSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('image'), data: z.string(), mimeType: z.string() }),
]);

/** The stored request: bounded, with the models that the server's settings allow. */
export const samplingRequestSchema = z.object({
  messages: z.array(z.object({ role: z.enum(['user', 'assistant']), content: z.array(blockSchema) })).min(1),
  systemPrompt: z.string().optional(),
  /** Names of models, or parts of them, in order. */
  hints: z.array(z.string()),
  /** Globs of the models that the server may use; absent: all. */
  models: z.array(z.string()).optional(),
  maxTokens: z.number().int().positive(),
  temperature: z.number().optional(),
  stopSequences: z.array(z.string()).optional(),
});
export type SamplingRequest = z.infer<typeof samplingRequestSchema>;

const sampledSchema = z.object({ model: z.string(), text: z.string(), stopReason: z.string() });
export type Sampled = z.infer<typeof sampledSchema>;

/** `refused`: the reason, in words for the server. */
export type SamplingAnswer = Sampled | { refused: string };

/** Bytes of a request as JSON; pictures are large. */
export const maxSamplingBytes = 1024 * 1024;
/** Characters of an answer's text. */
export const maxSampledLength = 256 * 1024;
export const defaultSampledTokens = 4_096;
export const samplingMs = 120_000;
/** A gateway that has not renewed its lease of a request for this long does not answer any more. */
export const samplingLeaseMs = 15_000;

/** The answer for the server; undefined while there is none. */
export function samplingAnswerOf({
  state,
  answer,
  decisionReason,
}: Pick<Wait, 'state' | 'answer' | 'decisionReason'>): SamplingAnswer | undefined {
  switch (state) {
    case 'waiting':
      return undefined;
    case 'approved':
      return sampledSchema.parse(answer);
    case 'denied':
      return { refused: decisionReason ?? 'No model answered' };
    default:
      return { refused: 'No gateway is waiting for this call any more, so no model was asked' };
  }
}
