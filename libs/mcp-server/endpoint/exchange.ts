// What a handler must know of the HTTP request that brought its message: the SDK hands it the web request and no more.
import type { RequestContext } from '#libs/schemas/call-context.js';

export interface McpExchange {
  context: RequestContext;
  /** The caller takes a stream: progress can be told. */
  streams: boolean;
  /** The caller reads more slowly than it is written to: what can be left out is. */
  readerBehind: boolean;
  /** Called once when the answer has ended, or its reader has gone. */
  atEnd: (() => void)[];
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
