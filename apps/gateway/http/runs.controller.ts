// Stored runs: their state, their events from any number on, and their cancelling (reliability: runs outlive connections).
import { Controller, Delete, Get, HttpCode, Inject, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Channels } from '#libs/backing/channels.js';
import type { Config } from '#libs/config/schema.js';
import type { NumberedEvent, RunStore, StoredRun } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintCompletionId } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { answerEvents, type TurnAnswer } from '../chat/fold-turn.js';
import { type FollowPorts, followRun } from '../chat/follow-run.js';
import { storedError } from '../chat/run-errors.js';
import { cancelElsewhere } from '../chat/listen-for-cancels.js';
import type { RunCancels } from '../chat/run-cancels.js';
import { EventsSseRenderer } from '../openai-api/render-events.js';
import { CONFIG, RUNS_PORTS } from './injection-tokens.js';
import { requestContext } from './request-context.js';
import { streamTurn } from './stream-turn.js';

export interface RunsPorts extends FollowPorts {
  runs: RunStore;
  channels: Channels;
  cancels: RunCancels;
  observeError: (error: AppError) => void;
}

/** How long a cancelling waits to be able to say that it is done. */
const cancelWaitMs = 3_000;
/** After the last event of any run: who follows from there waits for its end only. */
const neverReached = 2_147_483_647;

@Controller('api/runs')
export class RunsController {
  constructor(
    @Inject(RUNS_PORTS) private readonly ports: RunsPorts,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Get(':id')
  async state(@Req() request: FastifyRequest, @Param('id') id: string): Promise<JsonObject> {
    const run = await this.find(request, id);
    return this.show(run);
  }

  @Get(':id/events')
  async events(@Req() request: FastifyRequest, @Res() reply: FastifyReply, @Param('id') id: string): Promise<void> {
    const run = await this.find(request, id);
    const context = requestContext(request);
    const afterN = readLastEventId(request);
    const renderer = new EventsSseRenderer({
      id: mintCompletionId(run.id),
      created: Math.floor(run.createdAt.getTime() / 1000),
      // Told with the first event, which this reader has already.
      model: afterN === 0 ? '' : await this.modelOf(run),
    });
    const { server } = this.config;
    await streamTurn(reply, this.follow(run, afterN, context.signal), renderer, {
      requestId: context.requestId,
      // The stream is there from the start: its events may be long in coming.
      headersAfterMs: 100,
      keepAliveMs: server.keep_alive_ms,
      stuckReaderMs: server.stuck_reader_ms,
      detached: false,
      onError: this.ports.observeError,
    });
  }

  @Delete(':id')
  @HttpCode(200)
  async cancel(@Req() request: FastifyRequest, @Param('id') id: string): Promise<JsonObject> {
    const run = await this.find(request, id);
    if (run.state === 'running' && run.owner !== null && !this.ports.cancels.cancel(id)) {
      await cancelElsewhere(this.ports.channels, run.owner, id);
    }
    if (run.state === 'interrupted') await this.ports.runs.cancel(run.principal, id);
    return this.show(await this.whenEnded(run));
  }

  private async *follow(run: StoredRun, afterN: number, signal: AbortSignal): AsyncGenerator<readonly NumberedEvent[]> {
    let told = 0;
    for await (const numbered of followRun({ principal: run.principal, runId: run.id, afterN, signal }, this.ports)) {
      if (numbered.event.type === 'error') throw storedError({ ...run, error: numbered.event.error });
      told++;
      yield [numbered];
      if (numbered.event.type === 'done') return;
    }
    const now = (await this.ports.runs.get(run.principal, run.id)) ?? run;
    if (now.state === 'done' && now.answer !== null) {
      // Its own events are gone: the whole answer, for a reader that has none of it.
      if (told > 0 || afterN > 0) return;
      yield [...answerEvents(now.answer as unknown as TurnAnswer)].map((event, index) => ({ n: index + 1, event }));
      return;
    }
    if (now.state === 'interrupted') {
      throw new AppError(
        'shutting_down',
        'The run was interrupted; send its request again with the same Idempotency-Key',
      );
    }
    throw now.state === 'failed' ? storedError(now) : new AppError('cancelled', 'The run was cancelled');
  }

  private async modelOf(run: StoredRun): Promise<string> {
    const [first] = await this.ports.log.read(run.id, 0, 1);
    if (first?.event.type === 'start') return first.event.model;
    return (run.answer as unknown as TurnAnswer | null)?.model ?? '';
  }

  private async find(request: FastifyRequest, id: string): Promise<StoredRun> {
    const run = await this.ports.runs.get(requestContext(request).principal, id);
    if (run === undefined) throw new AppError('run_not_found', `Run '${id.slice(0, 64)}' not found`);
    return run;
  }

  private async whenEnded(run: StoredRun): Promise<StoredRun> {
    const signal = AbortSignal.timeout(cancelWaitMs);
    const from = { principal: run.principal, runId: run.id, afterN: neverReached, signal };
    try {
      for await (const _ of followRun(from, this.ports));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    return (await this.ports.runs.get(run.principal, run.id)) ?? run;
  }

  private async show(run: StoredRun): Promise<JsonObject> {
    const rounds = await this.ports.runs.rounds(run.id);
    const answer = run.answer as unknown as TurnAnswer | null;
    return {
      id: run.id,
      state: run.state,
      session_id: run.sessionId ?? null,
      created: Math.floor(run.createdAt.getTime() / 1000),
      rounds: answer?.toolExecution?.rounds ?? Math.max(rounds.length, answer === null ? 0 : 1),
      usage: run.usage,
      ...(answer?.toolExecution === undefined ? {} : { tool_execution: answer.toolExecution as unknown as JsonObject }),
      ...(run.error === null ? {} : { error: run.error }),
    };
  }
}

function readLastEventId(request: FastifyRequest): number {
  const given = request.headers['last-event-id'];
  if (given === undefined) return 0;
  if (typeof given === 'string' && /^\d{1,9}$/.test(given)) return Number(given);
  throw new AppError('invalid_value', 'Last-Event-ID must be the number of an event', { param: 'Last-Event-ID' });
}
