// Embeddings as the database keeps them. Only their directions count, so a byte for each number is enough, and the signs
// alone tell roughly how near two of them are.

/** Gives a vector for each text, in order. */
export type Embed = (texts: string[], signal: AbortSignal) => Promise<number[][]>;

export interface Embeddings {
  /** Only vectors of one model can be compared. */
  model: string;
  embed: Embed;
}

export const maxDimensions = 8_192;

/** @throws Error unless there is a usable vector for each text, all of one length. */
export async function embedAll(embed: Embed, texts: string[], signal: AbortSignal): Promise<number[][]> {
  const vectors = await embed(texts, signal);
  const dimensions = vectors[0]?.length ?? 0;
  const usable = (vector: number[]) => vector.length === dimensions && vector.every(Number.isFinite);
  if (vectors.length !== texts.length || dimensions === 0 || dimensions > maxDimensions || !vectors.every(usable))
    throw new Error('The model did not return exactly one vector for each text');
  return vectors;
}

/** PostgreSQL's text form of a bit string. */
export function signsOf(vector: readonly number[]): string {
  return vector.map((value) => (value > 0 ? '1' : '0')).join('');
}

export function bytesOf(vector: readonly number[]): Buffer {
  const largest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
  return Buffer.from(Int8Array.from(vector, (value) => Math.round((value / largest) * 127)).buffer);
}

/** -1 to 1; 0 for vectors without a direction. */
export function cosine(vector: readonly number[], bytes: Buffer): number {
  const values = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  let [product, one, other] = [0, 0, 0];
  for (let index = 0; index < vector.length; index += 1) {
    const [left, right] = [vector[index]!, values[index] ?? 0];
    product += left * right;
    one += left * left;
    other += right * right;
  }
  return one === 0 || other === 0 ? 0 : product / Math.sqrt(one * other);
}
