// Opens the parts of Chimech and connects them: for a process of its own, and for the worker.
import type { Config } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Authorize } from '#libs/mcp-server/decorators.js';
import { installedPath } from '#libs/process/find-installed.js';
import { localUrl } from '#libs/process/local-url.js';
import { CallRate } from './calls/call-rate.js';
import { ToolCalls, type FinishedCall } from './calls/tool-calls.js';
import { ChimechTools } from './chimech-tools.js';
import { GatewayClient } from './api/gateway.js';
import { closeAnalysis } from './analyze/analyze.js';
import { Knowledge, knowledgeSettings } from './knowledge/open-knowledge.js';
import { Templates } from './generate/templates.js';

export interface ChimechOptions {
  logger: Logger;
  /** Default: everybody may call every tool. */
  authorize?: Authorize;
  onEnd?: (call: FinishedCall) => void;
}

export interface OpenChimech {
  tools: ChimechTools;
  templates: Templates;
  gateway: GatewayClient;
  knowledge: Knowledge;
  close(): Promise<void>;
}

export function openChimech(
  { chimech, server, database }: Pick<Config, 'chimech' | 'server' | 'database'>,
  { logger, authorize = () => true, onEnd = () => undefined }: ChimechOptions,
): OpenChimech {
  const gateway = new GatewayClient({
    url: chimech.gateway_url ?? localUrl(server.host, server.port),
    key: chimech.gateway_key,
    model: chimech.model,
    embeddingsModel: chimech.embeddings_model,
  });
  const templates = new Templates(chimech.templates_dir ?? installedPath('config/chimech/templates'), logger);
  const calls = new ToolCalls({ gateway, rate: new CallRate(chimech.max_requests_per_minute), onEnd });
  const knowledge = new Knowledge(knowledgeSettings({ chimech, database }, logger));
  const close = async () => void (await Promise.allSettled([gateway.close(), knowledge.close(), closeAnalysis()]));
  const tools = new ChimechTools({ calls, templates, knowledge, authorize, close });
  return { tools, templates, gateway, knowledge, close };
}
