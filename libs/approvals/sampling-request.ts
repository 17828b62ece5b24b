// What a tool server may ask a model while a call of it runs (MCP sampling), and the answers that it gets. Pure.
import { z } from 'zod';
import type { Approval } from './approval.js';

const blockSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('image'), data: z.string(), mimeType: z.string() }),
]);

/** As it is stored: bounded, with what the server's settings allow. */
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

/** `refused`: why, in words for the server. */
export type SamplingAnswer = Sampled | { refused: string };

/** In bytes of JSON; pictures are large. */
export const maxSamplingBytes = 1024 * 1024;
/** Of the answer's text, in characters. */
export const maxSampledLength = 256 * 1024;
export const defaultSampledTokens = 4_096;
export const samplingMs = 120_000;
/** The gateway that answers says so again and again; one that is silent for this long does not. */
export const samplingLeaseMs = 15_000;

/** What the server is told; undefined while there is no answer. */
export function samplingAnswerOf({
  state,
  answer,
  decisionReason,
}: Pick<Approval, 'state' | 'answer' | 'decisionReason'>): SamplingAnswer | undefined {
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
