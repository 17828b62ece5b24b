// Chimech is served inside the worker of `npm start`, without a process of its own.
import { pathToFileURL } from 'node:url';
import type { Config } from '#libs/config/schema.js';

/** For the environment of the worker; nothing if the configuration has another server of that name. */
export function chimechModule(
  { worker, mcpServers }: Pick<Config, 'worker' | 'mcpServers'>,
  path: string,
): Record<string, string> {
  const configured = mcpServers['chimech'];
  if (configured !== undefined && configured.builtin !== 'chimech') return {};
  // As a URL, in which no comma ends it.
  const url = pathToFileURL(path).href.replaceAll(',', '%2C');
  return { WORKER_MODULES: [...worker.modules, url].join(',') };
}
