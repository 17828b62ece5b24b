// The checks of `signalbox doctor server NAME`: what a worker meets at the address of one tool server, whom it would sign in at, and
// what the server is told of a caller. Calls no tool of it, and shows no token.
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { TLSSocket } from 'node:tls';
import {
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/client';
import { decodeProtectedHeader } from 'jose';
import type { Cache } from '#libs/backing/cache.js';
import { publicAddress } from '#libs/config/addresses/public-address.js';
import { whyUnreachable } from '#libs/http-client/why-unreachable.js';
import { silentLogger } from '#libs/logging/logger.js';
import { statementOf, type UrlServer } from '../../apps/worker/mcp/servers/caller-access.js';
import { openUrl } from '../../apps/worker/mcp/servers/servers.js';
import { type DoctorAccess, findArrivals, type ToldServer, userOfCall, withAccess } from './find-arrivals.js';
import { okFinding, problemFinding, type ServerFinding } from './server-finding.js';

const askMs = 10_000;
const maxDocumentBytes = 1024 * 1024;

export async function* diagnoseServer(diagnosed: ToldServer): AsyncGenerator<ServerFinding> {
  const { server } = diagnosed;
  const met = await greet(server.url).catch((error: unknown) => whyUnreachable(error));
  if (typeof met === 'string') {
    const remedy = 'Correct its url, or start the server; its host must be reachable from where the worker runs';
    yield problemFinding('reached', `${server.url} cannot be reached: ${met}`, remedy);
    yield* await withAccess(diagnosed, (access) => findArrivals(diagnosed, access));
    return;
  }
  yield okFinding('reached', `${server.url} ${met.where}; without credentials it answers ${met.status}`);
  if (met.status === 401 || met.status === 403) yield* describeSignIn(server, met.challenge);
  yield describeCredentials(server, met.status);
  yield* await withAccess(diagnosed, async (access) => [
    ...(await findArrivals(diagnosed, access)),
    ...(server.identity === undefined ? [] : [await checkKeys(diagnosed, access)]),
    await listTools(diagnosed, access),
  ]);
}

interface Met {
  where: string;
  status: number;
  challenge: string | undefined;
}

const clientInfo = { name: 'signalbox', version: '1' };
const greetingParams = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
/** MCP's older greeting. */
const greeting = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: greetingParams }),
};

/** Without any credentials. */
export function greet(url: string, { method, headers, body }: Partial<typeof greeting> = greeting): Promise<Met> {
  const request = url.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const options = { method, headers, signal: AbortSignal.timeout(askMs), agent: false as const };
    const asked = request(url, options, (answer: IncomingMessage) => {
      const { statusCode = 0, socket, headers: answered } = answer;
      resolve({ where: whereOf(socket), status: statusCode, challenge: answered['www-authenticate'] });
      // It may be a stream that does not end.
      answer.on('error', () => undefined).destroy();
    });
    asked.on('error', reject).end(body);
  });
}

function whereOf(socket: IncomingMessage['socket']): string {
  const address = `is reached at ${socket.remoteAddress}`;
  if (!(socket instanceof TLSSocket)) return `${address} without TLS`;
  return `${address} by ${socket.getProtocol()}, with a certificate until ${socket.getPeerCertificate().valid_to}`;
}

async function* describeSignIn(server: UrlServer, challenge: string | undefined): AsyncGenerator<ServerFinding> {
  const answer = new Response(null, { headers: challenge === undefined ? {} : { 'www-authenticate': challenge } });
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(answer);
  let issuer: string | undefined;
  try {
    const found = await discoverOAuthProtectedResourceMetadata(server.url, { resourceMetadataUrl }, boundedFetch);
    issuer = found.authorization_servers?.[0];
    const scopes = scope ?? found.scopes_supported?.join(' ') ?? 'none';
    const named = issuer === undefined ? 'no issuer' : `the issuer ${issuer}`;
    yield okFinding('resource', `it is the resource ${found.resource} and names ${named}; scopes: ${scopes}`);
  } catch (error) {
    const what = `it has no document of a protected resource: ${messageOf(error)}`;
    const remedy =
      'People cannot sign in there: ask who runs it which `headers` it takes, or whether it takes `identity`';
    yield credentialsOf(server).length > 0 ? okFinding('resource', what) : problemFinding('resource', what, remedy);
  }
  if (issuer !== undefined) yield await describeIssuer(issuer);
}

async function describeIssuer(issuer: string): Promise<ServerFinding> {
  const remedy = 'Ask who runs the issuer; its metadata must be at /.well-known/oauth-authorization-server';
  try {
    const found = await discoverAuthorizationServerMetadata(issuer, { fetchFn: boundedFetch });
    if (found === undefined) return problemFinding('issuer', `${issuer} has no metadata`, remedy);
    const proof = found.code_challenge_methods_supported?.includes('S256') === true ? 'with PKCE' : 'without PKCE';
    const byDocument = found['client_id_metadata_document_supported'] === true ? 'a client id document' : undefined;
    const byRegistration = found.registration_endpoint === undefined ? undefined : 'registration';
    const clients = [byDocument, byRegistration].filter((way) => way !== undefined);
    const client = clients.length === 0 ? 'a client id that the issuer has given' : clients.join(' or ');
    return okFinding(
      'issuer',
      `${issuer} signs in at ${found.authorization_endpoint} ${proof}, for clients by ${client}`,
    );
  } catch (error) {
    return problemFinding('issuer', `the metadata of ${issuer} cannot be used: ${messageOf(error)}`, remedy);
  }
}

const credentialsOf = ({ headers, forward_headers: forwarded, identity, auth }: UrlServer): string[] => [
  ...Object.keys(headers),
  ...forwarded.map((name) => `${name} (of the caller)`),
  ...(identity === undefined ? [] : ['a statement about the caller']),
  ...(auth === undefined ? [] : [`credentials by auth (${auth.kind})`]),
];

export function describeCredentials(server: UrlServer, status: number): ServerFinding {
  const names = credentialsOf(server);
  if (names.length > 0) return okFinding('credentials', `requests carry ${names.join(', ')}`);
  if (status !== 401 && status !== 403)
    return okFinding('credentials', 'requests carry no credentials, and it asks for none');
  const remedy = 'Set `headers`, `forward_headers` or `identity` of the server, as it takes them';
  return problemFinding('credentials', 'it asks for credentials, and none are configured', remedy);
}

/** The server has to read the keys at the same address. */
async function checkKeys({ server, config, principal }: ToldServer, access: DoctorAccess): Promise<ServerFinding> {
  const url = `${publicAddress(config.server)}/.well-known/jwks.json`;
  const remedy = 'Start the gateway, and set server.public_url to an address at which the tool server reaches it';
  try {
    const { kid } = decodeProtectedHeader(await statementOf(server, access)!({ principal }));
    const answer = await boundedFetch(url);
    const { keys = [] } = (await answer.json()) as { keys?: { kid?: string }[] };
    if (keys.some((key) => key.kid === kid)) return okFinding('keys', `${url} has the key of the statement`);
    return problemFinding('keys', `${url} answers ${answer.status}, without the key of the statement`, remedy);
  } catch (error) {
    return problemFinding('keys', `${url} cannot be read: ${messageOf(error)}`, remedy);
  }
}

/** As a worker does for its catalog. */
async function listTools(diagnosed: ToldServer, access: DoctorAccess): Promise<ServerFinding> {
  const { name, server, config } = diagnosed;
  const learnt = new LearntDiscovery();
  const signal = AbortSignal.timeout(server.start_timeout_ms + askMs);
  try {
    const parts = { config, logger: silentLogger, cache: learnt, ...access };
    const place = { key: { server: name, configHash: '' }, statement: statementOf(server, access) };
    const user = await userOfCall(diagnosed, access);
    const connection = await openUrl(server, parts, place)(user, signal);
    try {
      const tools = await connection.listTools(signal);
      const how = `${learnt.shown()}, revision ${connection.peer?.protocolVersion ?? 'unknown'}`;
      return okFinding('tools', `${tools.length} tools were listed by ${how}`);
    } finally {
      await connection.close();
    }
  } catch (error) {
    const remedy = 'See the findings above; docs/tool-servers.md says what a worker needs of a server';
    return problemFinding('tools', `its tools cannot be listed: ${messageOf(error)}`, remedy);
  }
}

/** Takes the place of the cache in which workers share what they learn about servers. */
class LearntDiscovery implements Cache {
  readonly maxValueBytes = Infinity;
  private text = '{}';

  shown(): string {
    const { kind, transport } = JSON.parse(this.text) as { kind?: string; transport?: string };
    const over = transport === 'sse' ? 'HTTP+SSE' : 'Streamable HTTP';
    return `${over} in the ${kind === 'modern' ? 'newer' : 'older'} era`;
  }

  get = async () => undefined;
  set = async (_key: string, text: string) => void (this.text = text);
  delete = async () => undefined;
  close = async () => undefined;
}

/** Without redirects, within a time and a size. */
async function boundedFetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const signal = AbortSignal.timeout(askMs);
  const answer = await fetch(url, { ...init, signal, redirect: 'error' }).catch((error: unknown) => {
    throw new Error(`${String(url)}: ${whyUnreachable(error)}`, { cause: error });
  });
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > maxDocumentBytes) throw new Error(`${String(url)} sent more than ${maxDocumentBytes} bytes`);
    parts.push(part);
  }
  return new Response(Buffer.concat(parts), { status: answer.status, headers: answer.headers });
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 500);
