// The tools of Chimech as MCP lists them. What each does is in its own folder, loaded when it is first called.
import { McpServer, McpTool, type Around, type Authorize } from '#libs/mcp-server/decorators.js';
import type { ToolContext } from '#libs/mcp-server/tool-context.js';
import type { z } from 'zod';
import { analyze, analyzedOutput, analyzeInput } from './analyze/analyze.js';
import { summarize } from './analyze/summarize.js';
import type { ToolCalls } from './calls/tool-calls.js';
import { ChimechMCPError, queryTool, unreadableText } from './errors/chimech-mcp-error.js';
import { generate, generateInput, generateOutput } from './generate/generate.js';
import type { Templates } from './generate/templates.js';
import { type Knowledge, searchedOutput } from './knowledge/open-knowledge.js';
import { searchInput } from './knowledge/search-input.js';
import { say } from './language.js';
import { query, queryInput, queryOutput } from './query/query.js';
import { isUnreadable } from './readable-text.js';

export const chimechVersion = '1.0.0';

export interface ChimechParts {
  calls: ToolCalls;
  templates: Templates;
  knowledge: Knowledge;
  /** Runs before each handler; false refuses. */
  authorize: Authorize;
  close(): Promise<void>;
}

const metadata = (category: string, tags: string[]) => ({ version: chimechVersion, category, tags });

@McpServer({ name: 'chimech', version: chimechVersion, actsForCaller: true })
export class ChimechTools {
  constructor(private readonly parts: ChimechParts) {}

  @McpTool({
    name: queryTool,
    description: 'Asks a language model a question, with optional context. Remembers the turns of a conversation.',
    input: queryInput,
    output: queryOutput,
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    metadata: metadata('language', ['question', 'answer', 'conversation']),
    timeoutMs: 120_000,
  })
  query(input: z.output<typeof queryInput>, context: ToolContext): Promise<object> {
    return query(input, this.parts.calls.contextOf(context));
  }

  @McpTool({
    name: 'chimech/generate',
    description: 'Writes text, code, an e-mail or a report, checks its form and repairs it once if needed.',
    input: generateInput,
    output: generateOutput,
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    metadata: metadata('language', ['text', 'code', 'email', 'report']),
    timeoutMs: 240_000,
  })
  generate(input: z.output<typeof generateInput>, context: ToolContext): Promise<object> {
    return generate(input, this.parts.templates, this.parts.calls.contextOf(context));
  }

  @McpTool({
    name: 'chimech/analyze',
    description: 'Analyses a text, code or data: a summary, its structure, keywords, complexity and readability.',
    input: analyzeInput,
    output: analyzedOutput,
    // A model is asked for the summary.
    annotations: { readOnlyHint: true, openWorldHint: true },
    metadata: metadata('analysis', ['text', 'code', 'data', 'readability']),
    timeoutMs: 30_000,
  })
  async analyze(input: z.output<typeof analyzeInput>, context: ToolContext): Promise<object> {
    const call = this.parts.calls.contextOf(context);
    const { text, analysis } = await analyze(input, {
      signal: call.signal,
      summarize: (excerpt, about) => summarize(excerpt, about, call),
    });
    return { content: [{ type: 'text', text }], structuredContent: { analysis } };
  }

  @McpTool({
    name: 'chimech/search',
    description:
      'Searches the documents of the knowledge base by words, by an exact text in quotation marks, and by meaning.',
    input: searchInput,
    output: searchedOutput,
    annotations: { readOnlyHint: true, openWorldHint: false },
    metadata: metadata('knowledge', ['search', 'documents']),
    timeoutMs: 30_000,
  })
  async search(input: z.output<typeof searchInput>, context: ToolContext): Promise<object> {
    const { language } = this.parts.calls.contextOf(context);
    if (isUnreadable(input.query)) throw new ChimechMCPError(say(language, unreadableText('query')), 'INVALID_PARAMS');
    const { text, ...structuredContent } = await this.parts.knowledge.base(language).search(input, context.signal);
    return { content: [{ type: 'text', text }], structuredContent };
  }

  /** Calls only: whoever has a key may read the templates. */
  readonly authorize: Authorize = (tool, context, kind) => {
    if (kind !== 'tool') return true;
    this.parts.calls.admit(context);
    return this.parts.authorize(tool, context, kind);
  };

  readonly around: Around = (call, run) => this.parts.calls.around(call, run);

  onModuleDestroy(): Promise<void> {
    return this.parts.close();
  }
}
