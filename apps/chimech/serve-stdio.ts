// Chimech over standard input and output, for clients that start a program. Standard output is the protocol's alone: the log
// goes to standard error. It ends with its client.
import { loadConfig } from '#libs/config/load-config.js';
import { secretValues } from '#libs/config/secrets.js';
import { openLogger } from '#libs/logging/open-logger.js';
import { loadOrExit } from '#libs/process/run-process.js';
import { createMcpServer, serveOverStdio } from '#libs/mcp-server/create-mcp-server.js';
import { MemoryCache } from './memory-cache.js';
import { openChimech } from './open-chimech.js';

export async function serveStdio(): Promise<void> {
  const config = loadOrExit(loadConfig);
  const logger = await openLogger({
    service: 'chimech',
    level: config.log.level,
    secrets: secretValues(config),
    destination: 'stderr',
  });
  const chimech = openChimech(config, { logger });
  const prompts = chimech.templates;
  const mcp = createMcpServer(chimech.tools, { logger, cache: new MemoryCache(), prompts, sessionId: 'stdio' });
  const served = serveOverStdio(mcp);
  const end = async () => {
    await served.close();
    await Promise.allSettled([mcp.close(), chimech.close()]);
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void end());
  process.stdin.once('end', () => void end());
  process.stdin.once('close', () => void end());
}
