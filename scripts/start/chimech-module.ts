// Chimech is served inside the worker of `npm start`, without a process of its own.
import type { Config } from '#libs/config/schema.js';

/** For the environment of the worker; nothing if the configuration has another server of that name. */
export function chimechModule(
  { worker, mcpServers }: Pick<Config, 'worker' | 'mcpServers'>,
  url: URL,
): Record<string, string> {
  const configured = mcpServers['chimech'];
  if (configured !== undefined && configured.builtin !== 'chimech') return {};
  // The list is separated by commas.
  return { WORKER_MODULES: [...worker.modules, url.href.replaceAll(',', '%2C')].join(',') };
}
