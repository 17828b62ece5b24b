// An allowed connection through the egress proxy: the address is checked on connecting, then used for a tunnel, or for one
// plain HTTP request, rewritten from its parsed form.
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { guardedLookup, type Lookup } from '#libs/http-client/address-guard.js';
import { answerPlainly, EgressRefusal } from './egress-refusal.js';
import type { EgressRules, EgressTarget } from './egress-rules.js';

export interface ConnectParts {
  server: string;
  rules: EgressRules;
  resolve: Lookup;
  connectMs: number;
}

/** @throws EgressRefusal private_address, connect_time, unreachable, also when `client` closes first. */
export function connectTo(target: EgressTarget, client: Socket, parts: ConnectParts): Promise<Socket> {
  const { host, port } = target;
  const lookup = guardedLookup(parts.resolve, {
    mayConnect: (address) => parts.rules.allowsAddress(address, port),
    refusal: () => {
      const what = `${host} resolves to a private or reserved address`;
      const setting = `mcpServers.${parts.server}.network.allow`;
      return new EgressRefusal(403, 'private_address', `${what} that is not in ${setting}`);
    },
  });
  return new Promise((resolve, reject) => {
    const upstream = connect({ host, port, lookup, autoSelectFamily: true, allowHalfOpen: true });
    const slow = new EgressRefusal(504, 'connect_time', `${host}:${port} did not accept the connection in time`);
    const timer = setTimeout(() => upstream.destroy(slow), parts.connectMs);
    const end = () => void upstream.destroy(new Error('the client has gone'));
    client.once('close', end);
    const settled = () => {
      clearTimeout(timer);
      client.off('close', end);
    };
    upstream.once('close', settled);
    upstream.once('connect', () => {
      settled();
      resolve(upstream);
    });
    // This listener stays: the connection's user adds others.
    upstream.on('error', (error) =>
      reject(
        error instanceof EgressRefusal
          ? error
          : new EgressRefusal(502, 'unreachable', `${host}:${port} cannot be reached`),
      ),
    );
    if (client.destroyed) end();
  });
}

/** Each direction ends by itself. An abort on one side aborts the other, so that no cut stream looks complete. */
export function joinSockets(client: Socket, upstream: Socket): void {
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    from.on('error', () => undefined);
    from.once('close', () => (from.readableEnded ? to.destroySoon() : to.resetAndDestroy()));
    from.pipe(to);
  }
}

export interface ForwardedRequest extends EgressTarget {
  /** The requested path with its query. */
  path: string;
}

/** Headers of one connection, which are not forwarded. */
const ownHeaders =
  /^(?:host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|http2-settings)$/;

/** Sends the request to `upstream`, with the checked host, and returns its answer. One exchange per connection. */
export function forward(
  { host, port, path }: ForwardedRequest,
  { request, response, upstream }: { request: IncomingMessage; response: ServerResponse; upstream: Socket },
  maxHeaderSize: number,
): void {
  const name = host.includes(':') ? `[${host}]` : host;
  const hasBody = request.headers['transfer-encoding'] !== undefined;
  const outgoing = httpRequest({
    createConnection: () => upstream,
    method: request.method!,
    path,
    headers: {
      ...passedOn(request),
      host: port === 80 ? name : `${name}:${port}`,
      connection: 'close',
      // By default Node does not frame the body of a GET.
      ...(hasBody ? { 'transfer-encoding': 'chunked' } : {}),
    },
    setHost: false,
    maxHeaderSize,
    insecureHTTPParser: false,
  });
  outgoing.once('response', (answer) => {
    response.writeHead(answer.statusCode!, { ...passedOn(answer), connection: 'close' });
    pipeline(answer, response, () => undefined);
  });
  response.once('close', () => upstream.destroy());
  outgoing.on('error', () => {
    if (response.headersSent) response.destroy();
    else answerPlainly(response, new EgressRefusal(502, 'unreachable', `${host}:${port} did not answer`));
  });
  request.pipe(outgoing);
}

function passedOn({ headers, headersDistinct }: IncomingMessage): Record<string, string[]> {
  const named = (headers.connection ?? '').split(',').map((each) => each.trim().toLowerCase());
  const passed = Object.entries(headersDistinct).filter(([name]) => !ownHeaders.test(name) && !named.includes(name));
  return Object.fromEntries(passed.map(([name, values]) => [name, values ?? []]));
}
