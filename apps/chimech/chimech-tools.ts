// The tools of Chimech as MCP lists them. What each does is in its own folder, loaded when it is first called.
import { McpServer, McpTool, type Around, type Authorize } from '#libs/mcp-server/decorators.js';
import type { ToolContext } from '#libs/mcp-server/tool-context.js';
import type { z } from 'zod';
import type { ToolCalls } from './calls/tool-calls.js';
import { queryTool } from './errors/chimech-mcp-error.js';
import { generate, generateInput, generateOutput } from './generate/generate.js';
import type { Templates } from './generate/templates.js';
import { query, queryInput, queryOutput } from './query/query.js';

export const chimechVersion = '1.0.0';

export interface ChimechParts {
  calls: ToolCalls;
  templates: Templates;
  /** Runs before each handler; false refuses. */
  authorize: Authorize;
  close(): Promise<void>;
}

const metadata = (category: string, tags: string[]) => ({ version: chimechVersion, category, tags });

@McpServer({ name: 'chimech', version: chimechVersion })
export class ChimechTools {
  constructor(private readonly parts: ChimechParts) {}

  @McpTool({
    name: queryTool,
    description: 'Asks a language model a question, with context if given. Remembers the turns of a conversation.',
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
    description: 'Writes a text, code, an e-mail or a report, checks its form and repairs it once.',
    input: generateInput,
    output: generateOutput,
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    metadata: metadata('language', ['text', 'code', 'email', 'report']),
    timeoutMs: 240_000,
  })
  generate(input: z.output<typeof generateInput>, context: ToolContext): Promise<object> {
    return generate(input, this.parts.templates, this.parts.calls.contextOf(context));
  }

  readonly authorize: Authorize = (tool, context) => {
    this.parts.calls.admit(context);
    return this.parts.authorize(tool, context);
  };

  readonly around: Around = (call, run) => this.parts.calls.around(call, run);

  onModuleDestroy(): Promise<void> {
    return this.parts.close();
  }
}
