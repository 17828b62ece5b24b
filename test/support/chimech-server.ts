// The tools of Chimech as a client calls them, in this process; its gateway answers from a script.
import type { Authorize } from '#libs/mcp-server/decorators.js';
import { configSchema } from '#libs/config/schema.js';
import { silentLogger, type Logger } from '#libs/logging/logger.js';
import { type Script, type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.js';
import { createTestServer, type TestServer } from '#libs/testing/test-server.js';
import type { FinishedCall } from '../../apps/chimech/calls/tool-calls.js';
import { MemoryCache } from '../../apps/chimech/memory-cache.js';
import { openChimech } from '../../apps/chimech/open-chimech.js';

export interface ChimechTestServer extends TestServer {
  gateway: ScriptedUpstream;
  ended: FinishedCall[];
  close(): Promise<void>;
}

export interface ChimechTestOptions {
  script?: Script;
  settings?: Record<string, unknown>;
  databaseUrl?: string;
  authorize?: Authorize;
  logger?: Logger;
  /** The MCP session of all calls. */
  sessionId?: string;
}

export async function openChimechServer(options: ChimechTestOptions = {}): Promise<ChimechTestServer> {
  const { script = () => ({ text: 'an answer' }), settings = {}, logger = silentLogger } = options;
  const gateway = await startScriptedUpstream(script);
  const config = configSchema.parse({
    ...(options.databaseUrl === undefined ? {} : { database: { url: options.databaseUrl } }),
    chimech: { gateway_url: gateway.baseUrl.replace('/v1', ''), ...settings },
  });
  const ended: FinishedCall[] = [];
  const open = openChimech(config, {
    logger,
    onEnd: (call) => void ended.push(call),
    ...(options.authorize === undefined ? {} : { authorize: options.authorize }),
  });
  const test = await createTestServer(open.tools, {
    logger,
    cache: new MemoryCache(),
    prompts: open.templates,
    ...(options.sessionId === undefined ? {} : { sessionId: options.sessionId }),
  });
  return {
    ...test,
    gateway,
    ended,
    close: async () => {
      await test.close();
      await open.close();
      await gateway.close();
    },
  };
}

export const textOf = (result: { content?: unknown }): string => (result.content as { text: string }[])[0]!.text;
