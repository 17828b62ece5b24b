// The address at which people and tool servers reach the gateway.
import { isIP } from 'node:net';
import type { Config } from '../schema.js';

const everyAddress = new Set(['0.0.0.0', '::', '[::]']);

/** Without a slash at the end. */
export function publicUrlOf({ server: { public_url: configured, host, port } }: Pick<Config, 'server'>): string {
  if (configured !== undefined) return configured.replace(/\/+$/, '');
  const name = everyAddress.has(host) ? '127.0.0.1' : isIP(host) === 6 ? `[${host}]` : host;
  return `http://${name}:${port}`;
}
