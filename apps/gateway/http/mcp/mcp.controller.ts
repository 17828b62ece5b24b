// The gateway as an MCP server: over Streamable HTTP, and over HTTP+SSE, the transport of 2024. Admits calls, and writes
// answers with keep-alives and backpressure. Does not interpret the messages.
import { Controller, Delete, Get, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '#libs/config/schema.js';
import { isStream } from '#libs/mcp-server/endpoint/collapse-stream.js';
import type { McpExchange } from '#libs/mcp-server/endpoint/exchange.js';
import { McpEndpoint } from '#libs/mcp-server/endpoint/mcp-endpoint.js';
import { readFrames } from '#libs/mcp-server/endpoint/read-frames.js';
import { eventStream, passOn, webRequest } from '#libs/mcp-server/endpoint/web-request.js';
import { Toolsets } from '#libs/policy/toolset.js';
import { AppError } from '#libs/schemas/errors.js';
import { FirstCatalog } from '../../tools/first-catalog.js';
import { CONFIG } from '../injection-tokens.js';
import { DirectPost } from '../turns/direct-routes.js';
import { openSse } from '../turns/open-sse.js';
import { requestContext } from '../request-context.js';
import { TurnAdmission } from '../../govern/turn-admission.js';

const keepAlive = ': keep-alive\n\n';
/** The HTTP+SSE stream sends this path to its client. */
const messagesPath = '/sse/messages';

@Controller()
export class McpController {
  /** Ends streams that only wait for notifications, so that they do not delay a shutdown. */
  private readonly waiting = new AbortController();
  @Inject(Toolsets) private readonly toolsets!: Toolsets;

  constructor(
    private readonly endpoint: McpEndpoint,
    private readonly admission: TurnAdmission,
    private readonly firstCatalog: FirstCatalog,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @DirectPost('/mcp')
  post(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    return this.serve(request, reply);
  }

  @DirectPost('/mcp/:toolset')
  postToToolset(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    return this.serve(request, reply);
  }

  private async serve(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { toolset } = request.params as { toolset?: string };
    if (toolset !== undefined && this.toolsets.get(toolset) === undefined) {
      throw new AppError('not_found', `There is no toolset '${toolset.slice(0, 64)}'`);
    }
    const frames = request.method === 'POST' ? readFrames(request.body) : undefined;
    const context = requestContext(request);
    const waits = request.method === 'GET' || frames?.waits === true;
    if (waits && this.waiting.signal.aborted) throw new AppError('shutting_down', 'This gateway is stopping');
    const signal = waits ? AbortSignal.any([context.signal, this.waiting.signal]) : context.signal;
    const streams = request.method !== 'POST' || request.headers.accept?.includes(eventStream) === true;
    const exchange: McpExchange = { context, streams, readerBehind: false, atEnd: [], goesOn: [], ...modeOf(request) };
    if (toolset !== undefined) exchange.toolset = toolset;
    // Calls count as turns, so that a shutdown waits for them.
    if (frames?.calls === true) await this.enter(exchange);
    try {
      if (frames !== undefined) await this.firstCatalog.wait(signal);
      const response = await this.endpoint.answer(webRequest(request, signal), exchange, frames);
      await this.send(response, reply, { exchange, signal });
    } finally {
      for (const end of exchange.atEnd) end();
    }
  }

  @Get(['mcp', 'mcp/:toolset'])
  listen(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.serve(request, reply);
  }

  @Delete(['mcp', 'mcp/:toolset'])
  end(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.serve(request, reply);
  }

  @Get('sse')
  async openStream(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (this.waiting.signal.aborted) throw new AppError('shutting_down', 'This gateway is stopping');
    const context = requestContext(request);
    const exchange: McpExchange = {
      context,
      streams: true,
      readerBehind: false,
      atEnd: [],
      goesOn: [],
      ...modeOf(request),
    };
    try {
      const response = await this.endpoint.openStream(messagesPath, exchange);
      await this.stream(response.body!, reply, { exchange, signal: context.signal });
    } finally {
      for (const end of exchange.atEnd) end();
    }
  }

  /** Messages are answered on the stream of their session. */
  @Post('sse/messages')
  @HttpCode(202)
  async receive(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const frames = readFrames(request.body);
    const { sessionId } = request.query as { sessionId?: unknown };
    if (typeof sessionId !== 'string') {
      throw new AppError('invalid_value', 'sessionId: use the address that the stream sent', { param: 'sessionId' });
    }
    const context = requestContext(request);
    const exchange: McpExchange = { context, streams: true, readerBehind: false, atEnd: [], goesOn: [] };
    if (frames.calls) await this.enter(exchange);
    try {
      await this.firstCatalog.wait(context.signal);
      this.endpoint.receive(sessionId, webRequest(request, context.signal), exchange, frames);
    } catch (error) {
      for (const end of exchange.atEnd) end();
      throw error;
    }
    await reply.status(202).type('text/plain').send('Accepted');
  }

  /** Calls keep their place until what goes on after their answer has ended too. */
  private async enter(exchange: McpExchange): Promise<void> {
    const leave = await this.admission.enter(exchange.context);
    exchange.atEnd.push(() => {
      if (exchange.goesOn.length === 0) leave();
      else void Promise.all(exchange.goesOn).then(leave);
    });
  }

  /** Ends streams that only wait. Calls continue. */
  stopWaiting(): void {
    this.waiting.abort();
    this.endpoint.stopWaiting();
  }

  async close(): Promise<void> {
    this.stopWaiting();
    await this.endpoint.close();
  }

  private async send(
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
    await this.stream(response.body!, reply, { exchange, signal });
  }

  private async stream(
    body: ReadableStream<Uint8Array>,
    reply: FastifyReply,
    { exchange, signal }: { exchange: McpExchange; signal: AbortSignal },
  ): Promise<void> {
    const { keep_alive_ms: keepAliveMs } = this.config.server;
    const stream = openSse(reply, { keepAlive, keepAliveMs });
    // Sends the headers at once, because clients wait for them.
    await stream.write(keepAlive);
    try {
      await passOn(body, signal, async (text) => {
        exchange.readerBehind = true;
        await stream.write(text);
        exchange.readerBehind = false;
      });
    } finally {
      stream.end();
    }
  }
}

/** @throws AppError invalid_value */
function modeOf({ query }: FastifyRequest): Pick<McpExchange, 'mode'> {
  const { mode } = query as { mode?: unknown };
  if (mode === undefined) return {};
  if (mode === 'search') return { mode };
  throw new AppError('invalid_value', "mode: must be 'search', or absent", { param: 'mode' });
}
