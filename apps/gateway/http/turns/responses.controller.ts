// The routes of OpenAI's responses API.
import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '#libs/config/schema.js';
import type { StoredRun } from '#libs/runs/run-store.js';
import { AppError, type ErrorCode } from '#libs/schemas/errors.js';
import { runIdOfResponse } from '#libs/schemas/identifiers.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { cancelRun } from '../../turn/runs/cancel-run.js';
import type { StartedTurn } from '../../turn/runs/started-turn.js';
import { recallTurn } from '../../turn/runs/recall-turn.js';
import type { TakeTurnEvents } from '../../turn/record.js';
import { replayRun, replayedEvents } from '../../turn/replay-events.js';
import type { TurnRequest } from '../../turn/turn-request.js';
import { type References, referencesIn, withItems } from '../../responses-api/item-references.js';
import { listServers } from '../../responses-api/list-servers.js';
import { continueFrom, readResponseRequest } from '../../responses-api/read-response-request.js';
import { type InputItemPage, pageOfInput } from '../../responses-api/render-input-items.js';
import { ResponseFold, type ResponseRendering, ResponseSseRenderer } from '../../responses-api/render-response.js';
import {
  isStoredResponse,
  responseRendering,
  renderStoredResponse,
} from '../../responses-api/render-stored-response.js';
import type { WireItem } from '../../responses-api/wire-types.js';
import { DirectPost } from './direct-routes.js';
import { CONFIG, RUNS_PORTS } from '../injection-tokens.js';
import { requestContext } from '../request-context.js';
import type { RunsPorts } from '../runs/runs.controller.js';
import { streamTurn } from './stream-turn.js';
import { type DialectAdapter, TurnEndpoint } from './turn-endpoint.js';

@Controller('v1/responses')
export class ResponsesController {
  private readonly dialect: DialectAdapter;

  constructor(
    private readonly turns: TurnEndpoint,
    @Inject(RUNS_PORTS) private readonly ports: RunsPorts,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.dialect = {
      resolver: (body, limits) => this.resolver(body, limits),
      read: readResponseRequest,
      complete: (turn, context) => this.complete(turn, context, config.limits),
      renderer: (started, turn) => new ResponseSseRenderer(this.rendering(started, turn)),
      fold: (started, turn) => new ResponseFold(this.rendering(started, turn)),
    };
  }

  @DirectPost('/v1/responses')
  create(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    return this.turns.answer(this.dialect, request, reply);
  }

  @Post('input_tokens')
  @HttpCode(200)
  async count(@Req() request: FastifyRequest): Promise<{ object: 'response.input_tokens'; input_tokens: number }> {
    return { object: 'response.input_tokens', input_tokens: await this.turns.count(this.dialect, request) };
  }

  @Get(':id')
  async retrieve(@Req() request: FastifyRequest, @Res() reply: FastifyReply, @Param('id') id: string): Promise<void> {
    const streamed = wantsStream(request.query);
    const run = await this.find(requestContext(request).principal, id, 'response_not_found');
    if (streamed) return this.stream(run, request, reply);
    await reply.type('application/json').send(renderStoredResponse(run, await this.ports.runs.rounds(run.id)));
  }

  @Get(':id/input_items')
  async inputItems(@Req() request: FastifyRequest, @Param('id') id: string): Promise<InputItemPage> {
    const run = await this.find(requestContext(request).principal, id, 'response_not_found');
    return pageOfInput(run, request.query);
  }

  /** A response that has ended is returned unchanged. */
  @Post(':id/cancel')
  @HttpCode(200)
  async cancel(@Req() request: FastifyRequest, @Param('id') id: string): Promise<object> {
    const run = await this.find(requestContext(request).principal, id, 'response_not_found');
    return renderStoredResponse(await cancelRun(run, this.ports), await this.ports.runs.rounds(run.id));
  }

  @Delete(':id')
  @HttpCode(200)
  async remove(@Req() request: FastifyRequest, @Param('id') id: string): Promise<object> {
    const run = await this.find(requestContext(request).principal, id, 'response_not_found');
    if (!(await this.ports.runs.remove(run.principal, run.id))) {
      throw new AppError('invalid_value', 'The response is still in progress', { param: 'response_id' });
    }
    return { id, object: 'response', deleted: true };
  }

  /** Streams from the start, because stored pieces differ from those that were streamed. */
  private async stream(run: StoredRun, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { requestId, signal } = requestContext(request);
    const { ports } = this;
    const replay = async (take: TakeTurnEvents): Promise<void> => {
      if (run.state === 'done') await take(await replayedEvents(run, ports));
      else await replayRun(run, { afterN: 0, rewinds: false, signal }, ports, take);
    };
    const { server } = this.config;
    const rendererOf = () => new ResponseSseRenderer(responseRendering(run, run.request as unknown as TurnRequest));
    await streamTurn(reply, replay, rendererOf, {
      requestId,
      headersAfterMs: 100,
      keepAliveMs: server.keep_alive_ms,
      onError: ports.observeError,
    });
  }

  private rendering({ runId, createdAt, catalog }: StartedTurn, turn: TurnRequest): ResponseRendering {
    return { ...responseRendering({ id: runId, createdAt }, turn), listed: listServers(runId, turn, catalog) };
  }

  /** Adds the conversation of `previous_response_id`. */
  private async complete(turn: TurnRequest, context: RequestContext, limits: Config['limits']): Promise<TurnRequest> {
    const previous = turn.echo?.['previous_response_id'];
    if (typeof previous !== 'string') return turn;
    const run = await this.find(context.principal, previous, 'previous_response_not_found');
    if (run.state !== 'done') {
      throw new AppError('invalid_value', 'The previous response is not complete', { param: 'previous_response_id' });
    }
    return continueFrom(await recallTurn(run, this.ports.runs), turn, limits);
  }

  /** Puts items of stored responses in place of references to them. @throws AppError invalid_value */
  private resolver(body: unknown, limits: Config['limits']) {
    const references = referencesIn(body, limits.messages);
    if (references === undefined) return undefined;
    return async (context: RequestContext) =>
      withItems(body, await this.itemsOf(references, context), limits.body_bytes);
  }

  private async itemsOf(
    { runIds, callIds }: References,
    { principal, signal }: RequestContext,
  ): Promise<Map<string, WireItem>> {
    const { runs } = this.ports;
    const called = [...(await runs.findByCalls(principal, callIds)).values()];
    const items = new Map<string, WireItem>();
    for (const id of new Set([...runIds, ...called.map(({ run }) => run.id)])) {
      signal.throwIfAborted();
      const run = await runs.get(principal, id);
      if (run?.state !== 'done' || !isStoredResponse(run)) continue;
      for (const item of renderStoredResponse(run, await runs.rounds(id)).output) items.set(item.id, item);
    }
    return items;
  }

  private async find(principal: string, id: string, code: ErrorCode): Promise<StoredRun> {
    const runId = runIdOfResponse(id);
    const run = runId === undefined ? undefined : await this.ports.runs.get(principal, runId);
    if (run !== undefined && isStoredResponse(run)) return run;
    const param = code === 'previous_response_not_found' ? { param: 'previous_response_id' } : {};
    throw new AppError(code, `Response '${id.slice(0, 64)}' not found`, param);
  }
}

/** @throws AppError invalid_value */
function wantsStream(query: unknown): boolean {
  const { stream, starting_after: after } = query as Record<string, unknown>;
  if (after !== undefined) {
    const message = 'starting_after: is not supported: a stored response is streamed from its start';
    throw new AppError('invalid_value', message, { param: 'starting_after' });
  }
  return stream === 'true';
}
