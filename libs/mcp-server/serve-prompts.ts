// Serves `prompts/list` and `prompts/get` of a decorated server from a source of prompts.
import { ProtocolError, type Server } from '@modelcontextprotocol/server';
import type { GetPromptResult, Prompt } from '@modelcontextprotocol/server';

export interface PromptSource {
  list(signal: AbortSignal): Promise<Prompt[]>;
  /** Undefined if no prompt has the name. @throws PromptArgumentError */
  get(
    name: string,
    values: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<GetPromptResult | undefined>;
}

/** The message tells the caller what is wrong with the arguments. */
export class PromptArgumentError extends Error {
  override readonly name = 'PromptArgumentError';
}

const invalidParams = -32602;

export function servePrompts(server: Server, source: PromptSource): void {
  server.setRequestHandler('prompts/list', async (_request, { mcpReq }) => ({
    prompts: await source.list(mcpReq.signal),
  }));
  server.setRequestHandler('prompts/get', async ({ params }, { mcpReq }) => {
    try {
      const prompt = await source.get(params.name, params.arguments ?? {}, mcpReq.signal);
      if (prompt !== undefined) return prompt;
    } catch (error) {
      if (!(error instanceof PromptArgumentError)) throw error;
      throw new ProtocolError(invalidParams, error.message);
    }
    throw new ProtocolError(invalidParams, 'Unknown prompt', { code: 'prompt_not_found' });
  });
}
