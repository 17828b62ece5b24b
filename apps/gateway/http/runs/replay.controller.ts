// Replays a stored run as a new run of the caller, which is followed and cancelled as any other.
import { Controller, HttpCode, Inject, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Config } from '#libs/config/schema.js';
import { type RunSummary, summaryOf } from '#libs/runs/listing/listed-run.js';
import { factsOf } from '#libs/runs/listing/run-facts.js';
import { AppError } from '#libs/schemas/errors.js';
import { TurnAdmission } from '../../govern/turn-admission.js';
import { FirstCatalog } from '../../tools/first-catalog.js';
import type { Replays } from '../../turn/replay/replays.js';
import { CONFIG, POLICY_PORTS, RUNS_PORTS } from '../injection-tokens.js';
import type { PolicyPorts } from '../policy/policy.controller.js';
import { requestContext } from '../request-context.js';
import { findRun, runNotFound } from './find-run.js';
import { readReplay } from './read-replay.js';
import type { RunsPorts } from './runs.controller.js';

export interface ReplayControllerPorts extends RunsPorts {
  replays: Pick<Replays, 'start'>;
}

@Controller('api/runs')
export class ReplayController {
  @Inject(FirstCatalog) private readonly firstCatalog!: FirstCatalog;

  constructor(
    @Inject(RUNS_PORTS) private readonly ports: ReplayControllerPorts,
    @Inject(POLICY_PORTS) private readonly policy: Pick<PolicyPorts, 'drafts'>,
    @Inject(CONFIG) private readonly config: Config,
    private readonly admission: TurnAdmission,
  ) {}

  @Post(':id/replay')
  @HttpCode(202)
  async start(@Req() request: FastifyRequest, @Param('id') id: string): Promise<RunSummary> {
    if (request.headers['idempotency-key'] !== undefined) {
      throw new AppError('invalid_value', 'Idempotency-Key: a replay cannot be resumed', { param: 'Idempotency-Key' });
    }
    const context = requestContext(request);
    const run = await findRun(request, id, this.ports);
    const asked = readReplay(request.body, this.config.limits);
    const leave = await this.admission.enter(context);
    try {
      await this.firstCatalog.wait(context.signal);
      const { policy: draft, ...changes } = asked;
      const policy = draft === undefined ? undefined : await this.policy.drafts.read(draft, context.signal);
      return await this.show(await this.ports.replays.start(run, { ...changes, policy }, context, leave));
    } catch (error) {
      leave();
      throw error;
    }
  }

  private async show(id: string): Promise<RunSummary> {
    const { database, runListing, usage } = this.ports;
    const [row, facts] = await Promise.all([runListing.row(id), factsOf(database, [id])]);
    if (row === undefined) throw runNotFound(id);
    return summaryOf(row, facts.get(id)!, usage.prices);
  }
}
