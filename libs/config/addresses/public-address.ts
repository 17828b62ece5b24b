// The address at which others reach the gateway.
import { localUrl } from '#libs/process/local-url.js';
import type { Config } from '../schema.js';

type ServerSettings = Config['server'];

/** `https://tools.example.com`, without a final slash. */
export function publicAddress({ public_url: url, host, port }: ServerSettings): string {
  return url === undefined ? localUrl(host, port) : new URL(url).href.replace(/\/+$/, '');
}

/**
 * The addresses that are this gateway's alone, as the resources of an OAuth issuer, each with the toolset that it is of, if any. None without
 * `server.public_url`: many machines have the same address on loopback.
 */
export function ownResources(server: ServerSettings, toolsets: readonly string[]): Map<string, string | undefined> {
  if (server.public_url === undefined) return new Map();
  const address = publicAddress(server);
  return new Map([
    [`${address}/mcp`, undefined],
    [`${address}/sse`, undefined],
    ...toolsets.map((name) => [`${address}/mcp/${name}`, name] as const),
  ]);
}
