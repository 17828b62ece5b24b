// The knowledge base as the configuration has it, opened when it is first searched.
import { z } from 'zod';
import type { Config } from '#libs/config/schema.js';
import { type EmbeddingsServer, embeddingsServerOf, openEmbeddings } from '#libs/embeddings/request-embeddings.js';
import type { Logger } from '#libs/logging/logger.js';
import { ChimechMCPError } from '../errors/chimech-mcp-error.js';
import { say, type Language } from '../language.js';
import { KnowledgeBase } from './knowledge-base.js';
import { searchOutput } from './search-input.js';

export const searchedOutput = z.object({
  ...searchOutput.shape,
  metadata: z.record(z.string(), z.unknown()).optional(),
});

const statementMs = 10_000;
const embeddingMs = 10_000;

export interface KnowledgeSettings {
  url: string | undefined;
  embeddings: EmbeddingsServer | undefined;
  logger: Pick<Logger, 'warn'>;
}

export const knowledgeSettings = (
  config: Pick<Config, 'chimech' | 'database'>,
  logger: Pick<Logger, 'warn'>,
): KnowledgeSettings => ({
  url: config.database.url,
  embeddings: embeddingsServerOf(config, embeddingMs),
  logger,
});

export class Knowledge {
  private opened: { base: KnowledgeBase; close: () => Promise<unknown> } | undefined;

  constructor(private readonly settings: KnowledgeSettings) {}

  /** @throws ChimechMCPError INTERNAL_ERROR where there is no database */
  base(language: Language): KnowledgeBase {
    const { url } = this.settings;
    if (url === undefined) throw new ChimechMCPError(say(language, noDatabase), 'INTERNAL_ERROR');
    return this.open(url).base;
  }

  /** Undefined where there is no database. */
  async countDocuments(signal: AbortSignal): Promise<number | undefined> {
    const { url } = this.settings;
    return url === undefined ? undefined : this.open(url).base.countDocuments(signal);
  }

  async close(): Promise<void> {
    await this.opened?.close();
  }

  private open(url: string) {
    if (this.opened !== undefined) return this.opened;
    const { embeddings: server, logger } = this.settings;
    const embeddings = server && openEmbeddings(server);
    const base = new KnowledgeBase({ url, timeoutMs: statementMs, logger, ...(embeddings && { embeddings }) });
    this.opened = { base, close: () => Promise.allSettled([base.close(), embeddings?.close()]) };
    return this.opened;
  }
}

const noDatabase = {
  en: 'There is no knowledge base: DATABASE_URL is not set',
  zh: '此处没有知识库：未设置 DATABASE_URL',
};
