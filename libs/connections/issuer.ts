// The protocol between this gateway and the issuer of a tool server's tokens, by the SDK's functions: which issuer it is, which
// client we are there, tokens. Stores nothing.
import {
  checkResourceAllowed,
  ClientCredentialsProvider,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  fetchToken,
  resourceUrlFromServerUrl,
  type AuthorizationServerMetadata,
  type OAuthClientInformationMixed,
  type OAuthTokens,
} from '@modelcontextprotocol/client';
import type { ServerAuth } from '#libs/config/schemas/auth-schema.js';
import { AppError } from '#libs/schemas/errors.js';
import { IssuerAway, openIssuerFetch, type IssuerFetch } from './issuer-fetch.js';

/** A tool server whose calls need a connection. */
export interface ConnectedServer {
  name: string;
  url: string;
  auth: ServerAuth;
}

export type IssuerClient = OAuthClientInformationMixed;

/** What a server said when it refused a request. */
export interface Challenge {
  resourceMetadataUrl?: URL | undefined;
  scope?: string | undefined;
}

/** An issuer, as far as it is needed again: it is sealed with what it has issued. */
export interface Issuer {
  issuer: string;
  metadata: AuthorizationServerMetadata | undefined;
  /** The server as tokens name it (RFC 8707). */
  resource: string;
}

export interface FoundIssuer extends Issuer {
  /** The scopes that the server names. */
  scope: string | undefined;
}

/** Metadata that is not needed again is left out. */
const keptMembers = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'revocation_endpoint',
  'response_types_supported',
  'code_challenge_methods_supported',
  'token_endpoint_auth_methods_supported',
  'scopes_supported',
  'client_id_metadata_document_supported',
  'authorization_response_iss_parameter_supported',
] as const;

export function fetchFor({ url, auth }: ConnectedServer, allow: readonly string[], signal: AbortSignal): IssuerFetch {
  return openIssuerFetch(auth.issuer === undefined ? [url] : [url, auth.issuer], allow, signal);
}

/** Asks the server without a token, as any client would begin. */
export async function askForChallenge({ url }: ConnectedServer, fetch: IssuerFetch): Promise<Challenge> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-method': 'ping',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  });
  return answer.status === 401 ? extractWWWAuthenticateParams(answer) : {};
}

/** @throws AppError tool_unavailable, tool_denied */
export async function findIssuer(
  server: ConnectedServer,
  { resourceMetadataUrl, scope }: Challenge,
  fetch: IssuerFetch,
): Promise<FoundIssuer> {
  const { url, auth } = server;
  const described = await discoverOAuthProtectedResourceMetadata(
    url,
    resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl },
    fetch,
  ).catch((error: unknown) => {
    // Any other error is the SDK's, for a server without such metadata.
    if (error instanceof AppError) throw error;
    return undefined;
  });
  const own = resourceUrlFromServerUrl(url);
  if (
    described !== undefined &&
    !checkResourceAllowed({ requestedResource: own, configuredResource: described.resource })
  ) {
    throw unusable(server, 'the metadata of the server is about another resource');
  }
  const named = described?.authorization_servers ?? [];
  if (auth.issuer !== undefined && named.length > 0 && !named.some((each) => isSameIssuer(each, auth.issuer!))) {
    throw unusable(server, 'the server names another issuer than the configured one');
  }
  // Before there was such metadata, a server was its own issuer, under any name of its origin.
  const isOwnIssuer = described === undefined && auth.issuer === undefined;
  const address = auth.issuer ?? named[0] ?? new URL('/', url).href;
  const metadata = await ofIssuer(server, () =>
    discoverAuthorizationServerMetadata(address, { fetchFn: fetch, skipIssuerValidation: isOwnIssuer }),
  );
  if (isOwnIssuer && metadata !== undefined && !isOfOrigin(metadata.issuer, address)) {
    throw unusable(server, 'it answers as another issuer');
  }
  if (metadata === undefined && described !== undefined) throw unusable(server, 'it has no metadata');
  return {
    issuer: metadata?.issuer ?? address,
    metadata: metadata && kept(metadata),
    resource: described?.resource ?? own.href,
    scope: scope ?? described?.scopes_supported?.join(' '),
  };
}

function kept(metadata: AuthorizationServerMetadata): AuthorizationServerMetadata {
  const all = metadata as Record<string, unknown>;
  const entries = keptMembers.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]]));
  return Object.fromEntries(entries) as AuthorizationServerMetadata;
}

/** The client that the operator has at the issuer. */
export function configuredClient({ auth }: ConnectedServer): IssuerClient | undefined {
  const { client_id, client_secret } = auth;
  if (client_id === undefined) return undefined;
  return { client_id, ...(client_secret === undefined ? {} : { client_secret }) };
}

const isOfOrigin = (issuer: string, url: string) =>
  URL.canParse(issuer) && new URL(issuer).origin === new URL(url).origin;
const isSameIssuer = (left: string, right: string) => left.replace(/\/$/, '') === right.replace(/\/$/, '');

/** The gateway's own token, by its client id and secret. @throws AppError tool_unavailable, IssuerRefused */
export async function ownToken(
  server: ConnectedServer,
  found: FoundIssuer,
  fetchFn: IssuerFetch,
): Promise<OAuthTokens> {
  const { client_id: clientId = '', client_secret: clientSecret = '', scopes } = server.auth;
  const { issuer, metadata, resource, scope } = found;
  const asked = scopes?.join(' ') ?? scope;
  const provider = new ClientCredentialsProvider({ clientId, clientSecret, expectedIssuer: issuer });
  const given = { metadata, resource, ...(asked === undefined ? {} : { scope: asked }), fetchFn };
  return ofIssuer(server, () => fetchToken(provider, issuer, given));
}

/** The issuer has answered, and refused. */
export class IssuerRefused extends AppError {
  constructor(
    server: string,
    /** As the issuer names the reason: `invalid_grant`. */
    readonly reason: string,
  ) {
    super('tool_unavailable', `The issuer of the tool server '${server}' refused: ${reason}`);
  }
}

export const unusable = ({ name }: ConnectedServer, why: string) =>
  new AppError('tool_unavailable', `The issuer of the tool server '${name}' cannot be used: ${why}`);

/** Errors of the SDK quote answers, which may hold tokens, so only what kind they are is kept. */
export async function ofIssuer<T>(server: ConnectedServer, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw asIssuerError(server, error);
  }
}

const codeForm = /^[a-z0-9_]{1,60}$/;
const away = new Set(['server_error', 'temporarily_unavailable', 'too_many_requests']);
const ownWords = /^Incompatible auth server: ([\w ]{1,80})$/;

function asIssuerError(server: ConnectedServer, error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  switch (error.name) {
    case 'AbortError':
      return error;
    case 'OAuthError': {
      const code = String((error as { code?: unknown }).code);
      if (away.has(code)) return new IssuerAway(`The issuer of the tool server '${server.name}' is not available`);
      return new IssuerRefused(server.name, codeForm.test(code) ? code : 'an unknown error');
    }
    case 'RegistrationRejectedError':
      return unusable(server, 'it refused to register this gateway as a client');
    case 'IssuerMismatchError':
      return unusable(server, 'it answers as another issuer');
    case 'InsecureTokenEndpointError':
      return unusable(server, 'its token endpoint is not https');
    case 'TypeError':
    case 'ZodError':
    case '$ZodError':
    case 'SyntaxError':
      return unusable(server, 'its answer cannot be read');
    default:
      return unusable(server, ownWords.exec(error.message)?.[1] ?? 'its answer cannot be used');
  }
}
