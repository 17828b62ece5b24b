// A tool server that is an API with an OpenAPI document: what opens its connections, with the credentials of their users.
import { randomBytes } from 'node:crypto';
import { basename } from 'node:path';
import type { Config, ServerConfig } from '#libs/config/schema.js';
import { documentFile, isAddress, serverAddress } from '#libs/config/servers/server-address.js';
import { AddressGuard } from '#libs/http-client/address-guard.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Workspaces } from '#libs/workspace/workspaces.js';
import { resultsDirectory } from '../../builtin/search-tools.js';
import { OpenApiClient } from '../openapi/api-client.js';
import { ApiDocument, type DocumentPlace } from '../openapi/api-document.js';
import { ApiServer, type CallFiles } from '../openapi/api-server.js';
import type { Api, ApiOptions } from '../openapi/read-api.js';
import type { FetchBounds } from '../wire/bounded-fetch.js';
import type { ToolCallOptions } from '../wire/call-scope.js';
import type { ServerBound } from '../wire/server-bound.js';
import { type AccessParts, serverAccessOf, statementHeader, statementOf } from './caller-access.js';
import { messageBytes } from './command-server.js';
import type { ConfiguredServer, OpenServer, PoolUser } from './configured-server.js';
import { InProcessConnection } from './in-process-connection.js';

export type ApiConfig = ServerConfig & { openapi: string };

export interface ApiParts extends AccessParts {
  config: Pick<Config, 'tools' | 'limits'>;
  configDirectory: string;
  workspaces: Pick<Workspaces, 'workspace'>;
  onBound?: (server: string, bound: ServerBound) => void;
}

const connectMs = 10_000;

export const documentPlace = (server: ApiConfig, configDirectory: string): DocumentPlace => {
  const file = documentFile(configDirectory, server);
  return file === undefined ? { url: server.openapi } : { file };
};

/** How the document is read for this server. */
export function apiOptions(server: ApiConfig, limits: Config['limits']): ApiOptions {
  const { openapi, base_url: baseUrl, operations, headers, auth, identity, forward_headers: forwarded } = server;
  const statement = typeof identity === 'object' ? identity.header : undefined;
  const signed = identity === undefined ? [] : [statement ?? 'authorization'];
  const ofUsers = auth === undefined ? [] : (auth.names ?? ['authorization']);
  const set = [...Object.keys(headers), ...forwarded, ...ofUsers, ...signed];
  return {
    baseUrl,
    documentUrl: isAddress(openapi) ? openapi : undefined,
    operations,
    setHeaders: set.map((name) => name.toLowerCase()),
    limits: { maxBytes: limits.tool_schema_bytes, maxDepth: limits.tool_schema_depth },
  };
}

export interface ApiClients extends Pick<ConfiguredServer, 'statement'> {
  /** A client for a user's calls; at `baseUrl`, whatever credentials and statements are for. */
  clientOf: (user: PoolUser, api: Pick<Api, 'baseUrl' | 'isFromDocument'>) => OpenApiClient;
  bounds: FetchBounds;
}

/** @throws CommandRefused */
export function openApiClients(
  name: string,
  server: ApiConfig,
  parts: AccessParts & Pick<ApiParts, 'config' | 'onBound'>,
): ApiClients {
  const { tools } = parts.config;
  // Both are refused without `base_url`.
  const named = { ...server, url: serverAddress(server) ?? '' };
  const statement = statementOf(named, parts);
  const bounds = {
    maxBytes: messageBytes(parts.config),
    connectMs,
    maxExchanges: server.concurrency,
    totalMs: Math.max(server.max_timeout_ms ?? tools.max_timeout_ms, server.timeout_ms ?? tools.timeout_ms),
    onBound: (bound: ServerBound) => parts.onBound?.(name, bound),
  };
  const clientOf: ApiClients['clientOf'] = (user, { baseUrl, isFromDocument }) => {
    const access = serverAccessOf(name, named, user, parts);
    return new OpenApiClient({
      baseUrl,
      headers: { ...server.headers, ...user.headers },
      bounds,
      guard: isFromDocument ? new AddressGuard(tools.fetch_allow) : undefined,
      access,
      fresh: statementHeader(named, statement, user),
      needed: (error) => access?.needed(error),
    });
  };
  return { clientOf, statement, bounds };
}

/** @throws CommandRefused */
export function openApi(
  name: string,
  server: ApiConfig,
  parts: ApiParts,
): Pick<ConfiguredServer, 'statement'> & { open: OpenServer } {
  const { config, configDirectory, workspaces } = parts;
  const { clientOf, statement, bounds } = openApiClients(name, server, parts);
  const document = new ApiDocument(documentPlace(server, configDirectory), apiOptions(server, config.limits));
  const open: OpenServer = async (user, signal) => {
    const api = await document.read(signal);
    const client = clientOf(user, api);
    const filesOf = (call: ToolCallOptions) => callFiles(workspaces, bounds.maxBytes, call);
    return new InProcessConnection(new ApiServer({ name, api, client, filesOf }));
  };
  return { open, statement };
}

function callFiles(workspaces: ApiParts['workspaces'], maxBytes: number, { user, signal }: ToolCallOptions): CallFiles {
  const workspace = () => {
    if (user === undefined) throw new AppError('tool_failed', 'The call has no workspace for files');
    return workspaces.workspace({ id: user.sessionId, directory: user.directory });
  };
  return {
    read: async (path) => {
      const file = await workspace().openFile(path);
      try {
        if (file.info.size > maxBytes)
          throw new AppError('invalid_tool_arguments', `The file is larger than ${maxBytes} bytes`);
        const parts: Buffer[] = [];
        for await (const part of file.read({}, signal)) parts.push(part);
        return { name: basename(path), bytes: Buffer.concat(parts) };
      } finally {
        await file.close();
      }
    },
    keep: async (fileName, bytes) => {
      const own = workspace();
      const path = `${resultsDirectory}/${randomBytes(4).toString('hex')}_${fileName}`;
      await own.write(path, bytes, { createDirectories: true, signal });
      return `${own.shownPath}/${path}`;
    },
  };
}
