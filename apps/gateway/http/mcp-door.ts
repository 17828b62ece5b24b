// HTTP for the MCP endpoint: makes a web request of ours, admits calls, and writes the web answer back with our
// keep-alives, back pressure and end. What is in the messages is not its business.
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import { isStream } from '../mcp/collapse-stream.js';
import type { McpExchange } from '../mcp/exchange.js';
import { McpEndpoint } from '../mcp/mcp-endpoint.js';
import { readFrames } from '../mcp/read-frames.js';
import { CONFIG } from './injection-tokens.js';
import { openSse } from './open-sse.js';
import { requestContext } from './request-context.js';
import { TurnAdmission } from './turn-admission.js';

const keepAlive = ': keep-alive\n\n';
const eventStream = 'text/event-stream';

@Injectable()
export class McpDoor {
  /** Of streams that wait for changes and would hold up a stop. */
  readonly #waiting = new AbortController();

  constructor(
    private readonly endpoint: McpEndpoint,
    private readonly admission: TurnAdmission,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const frames = request.method === 'POST' ? readFrames(request.body) : undefined;
    const context = requestContext(request);
    const waits = request.method === 'GET' || frames?.listens === true;
    if (waits && this.#waiting.signal.aborted) throw new AppError('shutting_down', 'This gateway is stopping');
    const signal = waits ? AbortSignal.any([context.signal, this.#waiting.signal]) : context.signal;
    const streams = request.method !== 'POST' || request.headers.accept?.includes(eventStream) === true;
    const exchange: McpExchange = { context, streams, readerBehind: false, atEnd: [] };
    // Counted with the turns: a stop waits for calls, and for nothing else here.
    if (frames?.calls === true) exchange.atEnd.push(this.admission.enter());
    try {
      const response = await this.endpoint.answer(webRequest(request, signal), exchange, frames);
      await this.#send(response, reply, { exchange, signal });
    } finally {
      for (const end of exchange.atEnd) end();
    }
  }

  /** Ends what only waits. Calls under way go on. */
  stopWaiting(): void {
    this.#waiting.abort();
  }

  async close(): Promise<void> {
    this.stopWaiting();
    await this.endpoint.close();
  }

  async #send(
    response: Response,
    reply: FastifyReply,
    { exchange, signal }: { exchange: McpExchange; signal: AbortSignal },
  ): Promise<void> {
    const session = response.headers.get('mcp-session-id');
    if (session !== null) reply.header('mcp-session-id', session);
    if (!isStream(response)) {
      const text = await response.text();
      if (reply.raw.destroyed) return;
      reply.status(response.status);
      await (text === '' ? reply.send() : reply.type('application/json').send(text));
      return;
    }
    await this.#stream(response.body!, reply, { exchange, signal });
  }

  async #stream(
    body: ReadableStream<Uint8Array>,
    reply: FastifyReply,
    { exchange, signal }: { exchange: McpExchange; signal: AbortSignal },
  ): Promise<void> {
    const { keep_alive_ms: keepAliveMs, stuck_reader_ms: stuckReaderMs } = this.config.server;
    const reader = body.getReader();
    const decoder = new TextDecoder();
    const cancel = () => void reader.cancel().catch(() => undefined);
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    const stream = openSse(reply, { keepAlive, keepAliveMs, stuckReaderMs });
    // The headers go out at once: a client waits for them before it believes that it listens.
    await stream.write(keepAlive);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        exchange.readerBehind = true;
        await stream.write(decoder.decode(value, { stream: true }));
        exchange.readerBehind = false;
      }
    } finally {
      signal.removeEventListener('abort', cancel);
      cancel();
      stream.end();
    }
  }
}

/** What the protocol reads of it; the body was parsed before. */
function webRequest(request: FastifyRequest, signal: AbortSignal): Request {
  const headers = new Headers({
    accept: request.method === 'POST' ? `application/json, ${eventStream}` : eventStream,
    ...(request.method === 'POST' ? { 'content-type': 'application/json' } : {}),
  });
  for (const [name, value] of Object.entries(request.headers)) {
    if (name.startsWith('mcp-') && typeof value === 'string') headers.set(name, value);
  }
  return new Request('http://gateway/mcp', { method: request.method, headers, signal });
}
