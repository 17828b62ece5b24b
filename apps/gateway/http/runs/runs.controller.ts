// The API of stored runs: lists them, returns their state and their events, and cancels them. Administrators have everybody's; to
// others a run of somebody else does not exist.
import { Controller, Delete, Get, HttpCode, Inject, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '#libs/config/schema.js';
import type { StoredRun } from '#libs/runs/run-store.js';
import { summaryOf, type RunSummary } from '#libs/runs/listing/listed-run.js';
import { factsOf } from '#libs/runs/listing/run-facts.js';
import type { RunListing } from '#libs/runs/listing/run-listing.js';
import { AppError } from '#libs/schemas/errors.js';
import { cancelRun, type CancelPorts } from '../../turn/runs/cancel-run.js';
import type { TurnAnswer } from '../../turn/fold-turn.js';
import { replayStoredRun } from '../../turn/replay-events.js';
import { requestOf } from '../../turn/turn-request.js';
import { validated } from '../../chat-apis/invalid-value.js';
import { EventsSseRenderer } from '../../openai-api/render-events.js';
import { renderingOf } from '../../openai-api/render-json.js';
import { CONFIG, RUNS_PORTS } from '../injection-tokens.js';
import { isAdministrator } from '../admin/administrator.guard.js';
import type { run as runShape, Shown } from '../openapi/open-api-shapes.js';
import { requestContext } from '../request-context.js';
import { streamTurn } from '../turns/stream-turn.js';
import { findRun, runNotFound } from './find-run.js';
import { readRunFilter, readRunParts, runPageSchema } from './run-query.js';
import { type RunDetails, shownRun, showRun, type ShowRunPorts } from './show-run.js';

export interface RunsPorts extends CancelPorts, Pick<ShowRunPorts, 'database'> {
  runListing: RunListing;
  usage: Pick<ShowRunPorts, 'prices'>;
  observeError: (error: AppError) => void;
}

type ShownRun = Shown<typeof runShape>;

@Controller('api/runs')
export class RunsController {
  constructor(
    @Inject(RUNS_PORTS) private readonly ports: RunsPorts,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Get()
  async list(
    @Req() request: FastifyRequest,
    @Query() query: Record<string, unknown>,
  ): Promise<{ data: RunSummary[]; next_cursor: string | null }> {
    const { limit, cursor, ...given } = validated(runPageSchema, query);
    const { database, runListing, usage } = this.ports;
    const filter = readRunFilter(given);
    const own = requestContext(request).principal;
    if (!isAdministrator(request)) {
      if (filter.principal !== undefined && filter.principal !== own) return { data: [], next_cursor: null };
      filter.principal = own;
    }
    const page = await runListing.page(filter, limit, cursor);
    const facts = await factsOf(
      database,
      page.rows.map(({ id }) => id),
    );
    const data = page.rows.map((row) => summaryOf(row, facts.get(row.id)!, usage.prices));
    return { data, next_cursor: page.cursor ?? null };
  }

  @Get(':id')
  async state(
    @Req() request: FastifyRequest,
    @Param('id') id: string,
    @Query('include') include?: string,
  ): Promise<RunDetails> {
    const parts = readRunParts(include);
    const run = await findRun(request, id, this.ports);
    const row = await this.ports.runListing.row(run.id);
    if (row === undefined) throw runNotFound(id);
    const { trace_url: traceUrl } = this.config.telemetry;
    return showRun(run, row, parts, { ...this.ports, prices: this.ports.usage.prices, traceUrl });
  }

  @Get(':id/events')
  async events(@Req() request: FastifyRequest, @Res() reply: FastifyReply, @Param('id') id: string): Promise<void> {
    const run = await findRun(request, id, this.ports);
    const context = requestContext(request);
    const afterN = readLastEventId(request);
    const renderer = new EventsSseRenderer({
      ...renderingOf(run, requestOf(run)),
      // The model is in the first event, which a resumed stream does not repeat.
      model: afterN === 0 ? '' : await this.modelOf(run),
    });
    const { server } = this.config;
    await streamTurn(
      reply,
      (take) => replayStoredRun(run, { afterN, rewinds: true, signal: context.signal }, this.ports, take),
      () => renderer,
      {
        requestId: context.requestId,
        // The run exists, so the status is already known.
        headersAfterMs: 0,
        keepAliveMs: server.keep_alive_ms,
        onError: this.ports.observeError,
      },
    );
  }

  @Delete(':id')
  @HttpCode(200)
  async cancel(@Req() request: FastifyRequest, @Param('id') id: string): Promise<ShownRun> {
    const run = await findRun(request, id, this.ports);
    return this.show(await cancelRun(run, this.ports));
  }

  private async modelOf(run: StoredRun): Promise<string> {
    // If all events were withdrawn, a rewind event precedes the start.
    const first = await this.ports.log.read(run.id, 0, 2);
    for (const { event } of first) if (event.type === 'start') return event.model;
    return (run.answer as unknown as TurnAnswer | null)?.model ?? '';
  }

  private async show(run: StoredRun): Promise<ShownRun> {
    const facts = await factsOf(this.ports.database, [run.id]);
    return shownRun(run, facts.get(run.id)!);
  }
}

function readLastEventId(request: FastifyRequest): number {
  const given = request.headers['last-event-id'];
  if (given === undefined) return 0;
  if (typeof given === 'string' && /^\d{1,9}$/.test(given)) return Number(given);
  throw new AppError('invalid_value', 'Last-Event-ID must be the number of an event', { param: 'Last-Event-ID' });
}
