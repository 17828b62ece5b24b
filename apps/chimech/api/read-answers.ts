// Reads what the gateway answers, tolerantly: only what is used here.
import { z } from 'zod';

const chatAnswer = z.object({
  model: z.string().default(''),
  choices: z
    .array(
      z.object({
        message: z.object({ content: z.string().nullish() }),
        logprobs: z
          .object({ content: z.array(z.object({ logprob: z.number() })).nullish() })
          .nullish()
          .catch(undefined),
      }),
    )
    .min(1),
  usage: z.object({ total_tokens: z.number().int().nonnegative() }).nullish().catch(undefined),
});

export interface ChatAnswer {
  text: string;
  model: string;
  tokensUsed: number;
  /** 0 to 1: the geometric mean of the probabilities of the tokens; undefined where the model gave none. */
  confidence: number | undefined;
}

/** Undefined if it is none, or has no text. */
export function readChatAnswer(body: unknown): ChatAnswer | undefined {
  const parsed = chatAnswer.safeParse(body);
  if (!parsed.success) return undefined;
  const { model, choices, usage } = parsed.data;
  const { message, logprobs } = choices[0]!;
  const text = message.content?.trim() ?? '';
  if (text === '') return undefined;
  return { text, model, tokensUsed: usage?.total_tokens ?? 0, confidence: confidenceOf(logprobs?.content ?? []) };
}

function confidenceOf(tokens: readonly { logprob: number }[]): number | undefined {
  if (tokens.length === 0) return undefined;
  const mean = tokens.reduce((sum, { logprob }) => sum + Math.min(0, logprob), 0) / tokens.length;
  return Math.round(Math.exp(mean) * 1_000) / 1_000;
}

const embeddingsAnswer = z.object({
  data: z.array(z.object({ index: z.number().int().nonnegative(), embedding: z.array(z.number()).min(1) })),
  usage: z.object({ total_tokens: z.number().int().nonnegative() }).nullish().catch(undefined),
});

/** One vector a text, in their order; undefined if it is anything else. */
export function readEmbeddings(body: unknown, count: number): { vectors: number[][]; tokensUsed: number } | undefined {
  const parsed = embeddingsAnswer.safeParse(body);
  if (!parsed.success) return undefined;
  const vectors: (number[] | undefined)[] = Array.from({ length: count });
  for (const { index, embedding } of parsed.data.data) if (index < count) vectors[index] = embedding;
  if (vectors.some((vector) => vector === undefined)) return undefined;
  return { vectors: vectors as number[][], tokensUsed: parsed.data.usage?.total_tokens ?? 0 };
}

const errorAnswer = z.object({
  error: z.object({ message: z.string(), code: z.string().nullish(), param: z.string().nullish() }),
});

export interface ErrorAnswer {
  message: string;
  code: string;
}

const maxMessageLength = 300;

export function readError(body: unknown): ErrorAnswer {
  const parsed = errorAnswer.safeParse(body);
  if (!parsed.success) return { message: '', code: '' };
  const { message, code } = parsed.data.error;
  return { message: message.slice(0, maxMessageLength), code: code ?? '' };
}
