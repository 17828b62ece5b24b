// The HTTP request behind a message, for handlers: the SDK passes only the web request.
import type { RequestContext } from '#libs/schemas/call-context.js';

export interface McpExchange {
  context: RequestContext;
  /** The caller accepts a stream, so progress can be reported. */
  streams: boolean;
  /** The caller reads more slowly than data is written: optional messages are dropped. */
  readerBehind: boolean;
  /** The stream of a session before 2026-07-28, for what belongs to no request any more; undefined while the client has none open. */
  sessionStream?: () => Pick<McpExchange, 'readerBehind'> | undefined;
  /** `search`: instead of the tools, the client is shown those that find, describe and call them. A session keeps its first mode. */
  mode?: 'search';
  /** The named set of tools that the address is of. A session is reached at its own address only. */
  toolset?: string;
  /** Called once when the answer has ended, or its reader has disconnected. */
  atEnd: (() => void)[];
  /** What goes on after the answer, and counts as the caller's until it has ended. These promises never reject. */
  goesOn: Promise<void>[];
}

const exchanges = new WeakMap<Request, McpExchange>();

export function bindExchange(request: Request, exchange: McpExchange): void {
  exchanges.set(request, exchange);
}

export function exchangeOf(request: Request | undefined): McpExchange {
  const exchange = request === undefined ? undefined : exchanges.get(request);
  if (exchange === undefined) throw new Error('an MCP request without its exchange: bindExchange has not run');
  return exchange;
}
