// What a person looks at first: what waits for someone, what is wrong, what runs, and the last hours. Administrators see everybody's,
// other callers their own. And the workers, for administrators.
import { Controller, Get, Inject, Req, UseGuards } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { JobQueue } from '#libs/backing/job-queue.js';
import type { Config } from '#libs/config/schema.js';
import { Health } from '#libs/health/health.js';
import type { Database } from '#libs/postgres/open-database.js';
import { overviewCounts } from '#libs/runs/listing/overview-counts.js';
import type { ProcessRegistry, ServerReport, ShownProcess } from '#libs/runs/processes/process-registry.js';
import type { Budgets } from '#libs/usage/budgets.js';
import type { Traffic } from '#libs/usage/traffic.js';
import { ToolServers } from '../../tools/tool-servers.js';
import { AdministratorGuard, isAdministrator } from '../admin/administrator.guard.js';
import { CONFIG, OVERVIEW_PORTS } from '../injection-tokens.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import type { overview as overviewShape, worker as workerShape } from '../openapi/overview-shapes.js';
import { requestContext } from '../request-context.js';
import { budgetProblems, findProblems, nearShare, type Problem } from './find-problems.js';

export interface OverviewPorts {
  database: Pick<Database, 'query'>;
  registry: Pick<ProcessRegistry, 'shown'>;
  backing: { queue: Pick<JobQueue, 'counts'> };
  usage: { traffic: Pick<Traffic, 'read'>; budgets: Pick<Budgets, 'near'> };
  auditKeeper: { isBroken: boolean | undefined } | undefined;
}

type ShownOverview = Shown<typeof overviewShape>;

const workerSeenMs = 10_000;

@Controller('api')
export class OverviewController {
  constructor(
    @Inject(OVERVIEW_PORTS) private readonly ports: OverviewPorts,
    @Inject(CONFIG) private readonly config: Config,
    private readonly servers: ToolServers,
    private readonly health: Health,
  ) {}

  @Get('overview')
  async overview(@Req() request: FastifyRequest): Promise<ShownOverview> {
    const everybody = isAdministrator(request);
    const { principal, keyId, signal } = requestContext(request);
    const whose = everybody ? undefined : principal;
    const { database, usage } = this.ports;
    const [counts, hours, operator] = await Promise.all([
      overviewCounts(database, whose),
      usage.traffic.read(whose),
      everybody ? this.ofOperator(signal) : noOperator,
    ]);
    const near = usage.budgets
      .near(nearShare)
      .filter((each) => everybody || (each.principal === principal && each.keyId === keyId));
    return {
      at: new Date().toISOString(),
      everybody,
      waiting: {
        approvals: counts.approvals,
        sign_ins: counts.signIns,
        questions: counts.questions,
        tool_changes: everybody ? counts.toolChanges : null,
      },
      running_turns: counts.runningTurns,
      ...operator,
      problems: [...operator.problems, ...budgetProblems(near)],
      hours: hours.map(({ hour, requests, calls, failures, costUsd, p95Ms }) => ({
        hour: hour.toISOString(),
        requests,
        p95_ms: p95Ms ?? null,
        tool_calls: calls,
        tool_failures: failures,
        cost_usd: costUsd,
      })),
    };
  }

  @Get('workers')
  @UseGuards(AdministratorGuard)
  async workers(): Promise<{ workers: Shown<typeof workerShape>[] }> {
    const seen = await this.ports.registry.shown('worker', workerSeenMs);
    return { workers: seen.map(shownWorker) };
  }

  private async ofOperator(signal: AbortSignal): Promise<Pick<ShownOverview, 'problems' | 'queue' | 'workers'>> {
    const { registry, backing, auditKeeper } = this.ports;
    const [workers, queue, servers, { checks }] = await Promise.all([
      registry.shown('worker', workerSeenMs),
      backing.queue.counts(signal),
      this.servers.list(),
      this.health.ready(),
    ]);
    const audit = { enabled: this.config.audit.enabled, isBroken: auditKeeper?.isBroken };
    const count = (state: string) => workers.filter((worker) => stateOf(worker) === state).length;
    return {
      problems: findProblems({ servers, workers, audit, checks }),
      queue: { waiting: queue.waiting, active: queue.active, oldest_age_ms: Math.round(queue.oldestAgeMs) },
      workers: { ready: count('ready'), draining: count('draining'), gone: count('gone') },
    };
  }
}

const noOperator = { problems: [] as Problem[], queue: null, workers: null };

const stateOf = ({ isGone, draining }: ShownProcess) => (isGone ? 'gone' : draining ? 'draining' : 'ready');

function shownWorker(seen: ShownProcess): Shown<typeof workerShape> {
  const { isolation, servers } = seen.details;
  return {
    id: seen.id,
    state: stateOf(seen),
    started_at: seen.startedAt.toISOString(),
    seen_ms_ago: Math.round(seen.ageMs),
    isolation: typeof isolation === 'string' && isolation !== '' ? isolation.split(', ') : [],
    servers: Array.isArray(servers) ? (servers as unknown as ServerReport[]) : [],
  };
}
