// What tools mean, as embeddings, where a server for them is configured. They are learnt in the background, some tools of a server at a
// time, and kept in the cache, so that other gateways and later starts do not ask again. Whatever is missing is found by words.
import type { Cache } from '#libs/backing/cache.js';
import { abortAfter } from '#libs/concurrency/abort-after.js';
import { GrowingPause } from '#libs/concurrency/growing-pause.js';
import { WorkSlices } from '#libs/concurrency/work-slices.js';
import { bytesOf, cosine, embedAll, type Embeddings } from '#libs/embeddings/embedding.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { Logger } from '#libs/logging/logger.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { realTool } from './tool-of-call.js';

/** Some texts of one request, and of one entry of the cache. */
const batchTools = 32;
const maxText = 1_500;
const keptMs = 30 * 86_400_000;
const cacheMs = 2_000;
const batchMs = 30_000;
/** A model waits for its search: without an answer by then, words alone decide. */
const queryMs = 1_000;
const retryMs = { least: 5_000, most: 300_000 };
/** Whatever is asked for, something is nearest to it. */
const maxNearest = 50;

export interface MeaningParts {
  embeddings: Embeddings;
  cache: Pick<Cache, 'get' | 'set'>;
  logger: Pick<Logger, 'warn'>;
}

export class ToolMeanings {
  private readonly vectors = new WeakMap<CatalogTool, Buffer>();
  private readonly closing = new AbortController();
  private readonly pause = new GrowingPause(retryMs);
  private learning: Promise<void> | undefined;
  private next: readonly CatalogTool[] | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** No query is embedded before, by performance.now(). */
  private restsUntil = 0;

  constructor(private readonly parts: MeaningParts) {}

  /** Learns those of these tools that are not known yet; a later call takes the place of one that waits. */
  learn(tools: readonly CatalogTool[]): void {
    if (this.closing.signal.aborted) return;
    this.next = tools;
    clearTimeout(this.timer);
    this.learning ??= this.learnNext().finally(() => (this.learning = undefined));
  }

  /** Resolves when nothing is being learnt. */
  async settled(): Promise<void> {
    await this.learning;
  }

  async close(): Promise<void> {
    this.closing.abort(new Error('the gateway is stopping'));
    clearTimeout(this.timer);
    await this.learning;
  }

  /** The known ones of these tools, nearest to the query first. None if the query cannot be embedded, or not in time. */
  async nearest(query: string, tools: Iterable<CatalogTool>, signal: AbortSignal): Promise<CatalogTool[]> {
    const vector = await this.vectorOf(query, signal);
    if (vector === undefined) return [];
    const slices = new WorkSlices();
    const near: { tool: CatalogTool; likeness: number }[] = [];
    for (const tool of tools) {
      await slices.next();
      // What a toolset calls otherwise means the same.
      const bytes = this.vectors.get(realTool(tool));
      if (bytes?.length === vector.length) near.push({ tool, likeness: cosine(vector, bytes) });
    }
    near.sort((one, other) => other.likeness - one.likeness);
    return near.slice(0, maxNearest).map(({ tool }) => tool);
  }

  private async vectorOf(query: string, signal: AbortSignal): Promise<number[] | undefined> {
    if (performance.now() < this.restsUntil) return undefined;
    const { embeddings, logger } = this.parts;
    try {
      const within = AbortSignal.any([signal, this.closing.signal, abortAfter(queryMs)]);
      const [vector] = await embedAll(embeddings.embed, [query.slice(0, maxText)], within);
      return vector;
    } catch (error) {
      signal.throwIfAborted();
      this.restsUntil = performance.now() + retryMs.least;
      logger.warn({ error }, 'a query could not be embedded, so tools were searched by words');
      return undefined;
    }
  }

  private async learnNext(): Promise<void> {
    while (this.next !== undefined) {
      const tools = this.next;
      this.next = undefined;
      try {
        for (const batch of batchesOf(tools)) {
          // A newer list has all that is still needed of this one.
          if (this.next !== undefined) break;
          this.closing.signal.throwIfAborted();
          if (batch.some((tool) => !this.vectors.has(tool))) await this.learnBatch(batch);
        }
      } catch (error) {
        if (this.closing.signal.aborted) return;
        this.parts.logger.warn({ error }, 'tools could not be embedded, so they are searched by words for now');
        this.timer = setTimeout(() => this.learn(this.next ?? tools), this.pause.next()).unref();
        return;
      }
    }
  }

  private async learnBatch(tools: readonly CatalogTool[]): Promise<void> {
    const { embeddings } = this.parts;
    const texts = tools.map(textOf);
    const key = `tool_meanings:${canonicalHash([embeddings.model, texts])}`;
    const known = await this.cached(key, tools.length);
    this.closing.signal.throwIfAborted();
    const vectors = known ?? (await this.embedded(texts));
    for (const [at, tool] of tools.entries()) this.vectors.set(tool, vectors[at]!);
    if (known === undefined) await this.keep(key, vectors);
  }

  private async embedded(texts: string[]): Promise<Buffer[]> {
    const signal = AbortSignal.any([this.closing.signal, abortAfter(batchMs)]);
    return (await embedAll(this.parts.embeddings.embed, texts, signal)).map(bytesOf);
  }

  /** Undefined if they are not there, or the cache cannot be asked. */
  private async cached(key: string, count: number): Promise<Buffer[] | undefined> {
    const text = await this.parts.cache.get(key, abortAfter(cacheMs)).catch(() => undefined);
    if (text === undefined) return undefined;
    const all = Buffer.from(text, 'base64');
    const length = all.length / count;
    if (!Number.isInteger(length) || length === 0) return undefined;
    return Array.from({ length: count }, (_none, at) => all.subarray(at * length, (at + 1) * length));
  }

  private async keep(key: string, vectors: readonly Buffer[]): Promise<void> {
    const text = Buffer.concat(vectors).toString('base64');
    await this.parts.cache.set(key, text, keptMs, abortAfter(cacheMs)).catch(() => undefined);
  }
}

const textOf = ({ server, tool, title = '', description }: CatalogTool): string =>
  [`${server}: ${tool}`, title, description].join('\n').slice(0, maxText);

/** Tools of one server only, so that a change of one server leaves the batches of all others as they are. */
function* batchesOf(tools: readonly CatalogTool[]): Generator<CatalogTool[]> {
  let batch: CatalogTool[] = [];
  for (const tool of tools) {
    if (batch.length === batchTools || (batch.length > 0 && batch[0]!.server !== tool.server)) {
      yield batch;
      batch = [];
    }
    batch.push(tool);
  }
  if (batch.length > 0) yield batch;
}
