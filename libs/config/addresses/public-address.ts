// The address at which others reach the gateway.
import { localUrl } from '#libs/process/local-url.js';
import type { Config } from '../schema.js';

type ServerSettings = Config['server'];

/** `https://tools.example.com`, without a final slash. */
export function publicAddress({ public_url: url, host, port }: ServerSettings): string {
  return url === undefined ? localUrl(host, port) : new URL(url).href.replace(/\/+$/, '');
}

/**
 * The addresses that are this gateway's alone, as the resources of an OAuth issuer. None without `server.public_url`: many
 * machines have the same address on loopback.
 */
export function ownResources(server: ServerSettings, toolsets: readonly string[]): string[] {
  if (server.public_url === undefined) return [];
  return ['mcp', 'sse', ...toolsets.map((name) => `mcp/${name}`)].map(
    (endpoint) => `${publicAddress(server)}/${endpoint}`,
  );
}
