// The API of stored runs: returns their state and their events, and cancels them.
import { Controller, Delete, Get, HttpCode, Inject, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '#libs/config/schema.js';
import type { StoredRun } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import { cancelRun, type CancelPorts } from '../../turn/runs/cancel-run.js';
import type { TurnAnswer } from '../../turn/fold-turn.js';
import { replayRun } from '../../turn/replay-events.js';
import { requestOf } from '../../turn/turn-request.js';
import { EventsSseRenderer } from '../../openai-api/render-events.js';
import { renderingOf } from '../../openai-api/render-json.js';
import { CONFIG, RUNS_PORTS } from '../injection-tokens.js';
import type { run as runShape, Shown } from '../openapi/open-api-shapes.js';
import { requestContext } from '../request-context.js';
import { streamTurn } from '../turns/stream-turn.js';

export interface RunsPorts extends CancelPorts {
  observeError: (error: AppError) => void;
}

type ShownRun = Shown<typeof runShape>;

@Controller('api/runs')
export class RunsController {
  constructor(
    @Inject(RUNS_PORTS) private readonly ports: RunsPorts,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Get(':id')
  async state(@Req() request: FastifyRequest, @Param('id') id: string): Promise<ShownRun> {
    const run = await this.find(request, id);
    return this.show(run);
  }

  @Get(':id/events')
  async events(@Req() request: FastifyRequest, @Res() reply: FastifyReply, @Param('id') id: string): Promise<void> {
    const run = await this.find(request, id);
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
      (take) => replayRun(run, { afterN, rewinds: true, signal: context.signal }, this.ports, take),
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
    const run = await this.find(request, id);
    return this.show(await cancelRun(run, this.ports));
  }

  private async modelOf(run: StoredRun): Promise<string> {
    // If all events were withdrawn, a rewind event precedes the start.
    const first = await this.ports.log.read(run.id, 0, 2);
    for (const { event } of first) if (event.type === 'start') return event.model;
    return (run.answer as unknown as TurnAnswer | null)?.model ?? '';
  }

  private async find(request: FastifyRequest, id: string): Promise<StoredRun> {
    await this.ports.activeRuns.written(id);
    const run = await this.ports.runs.get(requestContext(request).principal, id);
    if (run === undefined) throw new AppError('run_not_found', `Run '${id.slice(0, 64)}' not found`);
    return run;
  }

  private async show(run: StoredRun): Promise<ShownRun> {
    const rounds = await this.ports.runs.rounds(run.id);
    const answer = run.answer as unknown as TurnAnswer | null;
    return {
      id: run.id,
      state: run.state,
      session_id: run.sessionId ?? null,
      created: Math.floor(run.createdAt.getTime() / 1000),
      rounds: answer?.toolExecution?.rounds ?? Math.max(rounds.length, answer === null ? 0 : 1),
      usage: run.usage,
      tool_execution: answer?.toolExecution,
      error: (run.error as ShownRun['error'] | null) ?? undefined,
    };
  }
}

function readLastEventId(request: FastifyRequest): number {
  const given = request.headers['last-event-id'];
  if (given === undefined) return 0;
  if (typeof given === 'string' && /^\d{1,9}$/.test(given)) return Number(given);
  throw new AppError('invalid_value', 'Last-Event-ID must be the number of an event', { param: 'Last-Event-ID' });
}
