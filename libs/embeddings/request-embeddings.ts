// Embeddings from any server with OpenAI's `POST /embeddings`
// (https://platform.openai.com/docs/api-reference/embeddings/create).
import { z } from 'zod';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Config } from '#libs/config/schema.js';
import { HttpClient } from '#libs/http-client/http-client.js';
import type { Embeddings } from './embedding.js';

export interface EmbeddingsServer {
  /** Up to and with `/v1`. */
  baseUrl: string;
  model: string;
  apiKey?: string;
  /** For one request, ms. */
  timeoutMs: number;
}

/** Undefined unless both the address and the model are set. */
export function embeddingsServerOf(
  { chimech }: Pick<Config, 'chimech'>,
  timeoutMs: number,
): EmbeddingsServer | undefined {
  const { embeddings_url: baseUrl, embeddings_model: model, embeddings_key: apiKey } = chimech;
  if (baseUrl === undefined || model === undefined) return undefined;
  return { baseUrl, model, timeoutMs, ...(apiKey !== undefined && { apiKey }) };
}

/** 64 texts with 8,192 numbers each, as digits. */
const maxAnswerBytes = 16 * 1024 * 1024;

const answerSchema = z.object({
  data: z.array(z.object({ index: z.number(), embedding: z.array(z.number()) })),
});

/** Its `embed` throws an Error whose message says what the server did. */
export function openEmbeddings({ baseUrl, model, apiKey, timeoutMs }: EmbeddingsServer): Embeddings & {
  close(): Promise<void>;
} {
  const server = `The embeddings server at ${new URL(baseUrl).origin}`;
  const client = new HttpClient({
    baseUrl,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    },
    timeoutMs: { connect: Math.min(timeoutMs, 10_000), first_byte: timeoutMs, idle: timeoutMs },
    keepAliveMs: 15_000,
    maxExchanges: 4,
    maxBytes: maxAnswerBytes,
    opensAt: 'headers',
    toError: ({ kind, what, cause }) =>
      kind === 'cancelled' ? (cause as Error) : new Error(`${server} ${what}`, { cause }),
  });
  const embed = async (input: string[], signal: AbortSignal): Promise<number[][]> => {
    const body = JSON.stringify({ model, input, encoding_format: 'float' });
    const request = { method: 'POST', path: '/embeddings', body };
    const answer = await client.open(request, { signal, deadline: steadyNow() + timeoutMs });
    try {
      if (answer.status !== 200) throw new Error(`${server} answered with status ${answer.status}`);
      const chunks: Uint8Array[] = [];
      await answer.read((bytes) => void chunks.push(bytes));
      answer.close(true);
      return readAnswer(Buffer.concat(chunks).toString('utf8'), server);
    } finally {
      answer.close();
    }
  };
  return { model, embed, close: () => client.close() };
}

function readAnswer(text: string, server: string): number[][] {
  try {
    const { data } = answerSchema.parse(JSON.parse(text));
    return data.sort((one, other) => one.index - other.index).map(({ embedding }) => embedding);
  } catch (error) {
    throw new Error(`${server} did not return embeddings`, { cause: error });
  }
}
