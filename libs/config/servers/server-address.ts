// Where a tool server is, as its entry in the configuration says.
import { resolve } from 'node:path';
import type { ServerConfig } from '../schema.js';

/** The address that users sign in for, and whom statements about callers are for. A query of `base_url` may be a key. */
export const serverAddress = ({ url, base_url }: Pick<ServerConfig, 'url' | 'base_url'>): string | undefined =>
  url ?? base_url?.replace(/\?.*$/, '');

/** The absolute path of its document. Undefined: there is none, or it is at an address. */
export function documentFile(configDirectory: string, { openapi }: Pick<ServerConfig, 'openapi'>): string | undefined {
  return openapi === undefined || isAddress(openapi) ? undefined : resolve(configDirectory, openapi);
}

export const isAddress = (openapi: string): boolean => /^https?:\/\//i.test(openapi);
