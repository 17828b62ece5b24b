// The policy in force, and what a change of it would do. Nothing here changes it: its file does.
import { Body, Controller, Get, HttpCode, Inject, Post, Query, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { KeyRing } from '#libs/access/key-ring.js';
import type { KeyStore } from '#libs/access/key-store.js';
import { ruleHits } from '#libs/audit/rule-hits.js';
import type { Config } from '#libs/config/schema.js';
import type { Database } from '#libs/postgres/open-database.js';
import type { AppError } from '#libs/schemas/errors.js';
import type { UsageStore } from '#libs/usage/usage-store.js';
import { requireObject, validated } from '../../chat-apis/invalid-value.js';
import type { PolicyDrafts } from '../../govern/drafts/policy-drafts.js';
import type { ToolPolicy } from '../../govern/tool-policy.js';
import { Waits } from '../../govern/waits.js';
import { FirstCatalog } from '../../tools/first-catalog.js';
import type { ArgumentValidator } from '../../tools/tool-catalog.js';
import { AdministratorGuard, isAdministrator } from '../admin/administrator.guard.js';
import { CONFIG, ERROR_OBSERVER, POLICY_PORTS } from '../injection-tokens.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import {
  type draftedRule,
  draftRequest,
  explainRequest,
  type policyExplanation,
  type policyInForce,
  simulateRequest,
  type unusedRights,
} from '../openapi/policy-shapes.js';
import { requestContext } from '../request-context.js';
import { streamReport } from '../turns/stream-report.js';
import { explainPolicy, subjectOf } from './explain-policy.js';
import { draftRule, showPolicy } from './show-policy.js';
import { simulatePolicy } from './simulate-policy.js';
import { keylessHolder, unusedOf } from './unused-rights.js';

export interface PolicyPorts {
  database: Pick<Database, 'query'>;
  policy: Pick<ToolPolicy, 'inForce'>;
  drafts: PolicyDrafts;
  keys: Pick<KeyStore, 'inForce' | 'list'>;
  keyRing: Pick<KeyRing, 'required'>;
  usage: { store: Pick<UsageStore, 'usedTools'> };
  validator: ArgumentValidator;
  /** The main configuration file. */
  configFile: string;
}

const dayMs = 86_400_000;
const hitDays = 7;
const whole = (most: number, usual: number) =>
  z
    .string()
    .regex(/^\d{1,3}$/, `must be 1 to ${most}`)
    .transform(Number)
    .pipe(z.int().min(1, `must be 1 to ${most}`).max(most, `must be 1 to ${most}`))
    .default(usual);
const unusedQuery = z.object({ days: whole(365, 30), limit: whole(100, 50), after: z.string().max(256).optional() });

@Controller('api/policy')
export class PolicyController {
  @Inject(FirstCatalog) private readonly firstCatalog!: FirstCatalog;
  @Inject(Waits) private readonly approvals!: Waits;

  constructor(
    @Inject(POLICY_PORTS) private readonly ports: PolicyPorts,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(ERROR_OBSERVER) private readonly observeError: (error: AppError, requestId: string) => void,
  ) {}

  @Get()
  @UseGuards(AdministratorGuard)
  async show(): Promise<Shown<typeof policyInForce>> {
    const since = daysAgo(hitDays);
    const { database, policy, configFile } = this.ports;
    return showPolicy(policy.inForce, await ruleHits(database, since), since, configFile);
  }

  @Post('explain')
  @HttpCode(200)
  async explain(@Req() request: FastifyRequest): Promise<Shown<typeof policyExplanation>> {
    const asked = validated(explainRequest, requireObject(request.body));
    const caller = requestContext(request);
    const isWhole = isAdministrator(request);
    const subject = await subjectOf(asked, caller, isWhole, this.ports.keys);
    await this.firstCatalog.wait(caller.signal);
    if (asked.policy === undefined) return explainPolicy(asked, subject, this.ports, { isWhole });
    return this.ports.drafts.try(asked.policy, caller.signal, (draft) =>
      explainPolicy(asked, subject, this.ports, { draft, isWhole }),
    );
  }

  /** An error after the first byte is the last event. */
  @Post('simulate')
  @UseGuards(AdministratorGuard)
  async simulate(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { policy, rule, ...given } = validated(simulateRequest, requireObject(request.body));
    const until = given.until === undefined ? new Date() : new Date(given.until);
    const since = given.since === undefined ? daysAgo(hitDays) : new Date(given.since);
    const { signal, requestId } = requestContext(request);
    const { database, drafts } = this.ports;
    const keepAliveMs = this.config.server.keep_alive_ms;
    await this.firstCatalog.wait(signal);
    await drafts.try(policy, signal, (draft) =>
      streamReport(reply, { requestId, signal, keepAliveMs, onError: this.observeError }, (tell) =>
        simulatePolicy(draft, database, { since, until, rule, signal }, tell),
      ),
    );
  }

  @Post('draft')
  @HttpCode(200)
  @UseGuards(AdministratorGuard)
  async draft(@Req() request: FastifyRequest, @Body() body: unknown): Promise<Shown<typeof draftedRule>> {
    const { approval_id: id } = validated(draftRequest, requireObject(body));
    return draftRule(this.ports.policy.inForce, await this.approvals.get(id, requestContext(request)));
  }

  @Get('unused')
  @UseGuards(AdministratorGuard)
  async unused(
    @Req() request: FastifyRequest,
    @Query() query: Record<string, unknown>,
  ): Promise<Shown<typeof unusedRights>> {
    const { days, limit, after } = validated(unusedQuery, query);
    const { database, policy, keys, keyRing, usage } = this.ports;
    await this.firstCatalog.wait(requestContext(request).signal);
    const since = daysAgo(days);
    const found = await keys.list({ limit: limit + 1, ...(after === undefined ? {} : { after }) });
    const page = found.slice(0, limit);
    const now = Date.now();
    const valid = page.filter((key) => isInForce(key, now)).map((key) => ({ ...key, key }));
    const holders = keyRing.required || after !== undefined ? valid : [keylessHolder, ...valid];
    const used = await usage.store.usedTools(
      holders.map(({ id }) => id),
      days,
    );
    const hits = new Map((await ruleHits(database, since)).map((each) => [each.rule, each.hits]));
    const { rules } = policy.inForce.policy;
    const idle = rules.filter(({ name, effect }) => effect !== 'deny' && (hits.get(name) ?? 0) === 0);
    return {
      since: since.toISOString(),
      data: await unusedOf(holders, used, policy.inForce),
      rules: idle.map(({ name }) => name),
      has_more: found.length > limit,
    };
  }
}

const daysAgo = (days: number): Date => new Date(Date.now() - days * dayMs);

type ListedKey = Awaited<ReturnType<KeyStore['list']>>[number];

/** A key that was replaced and is still valid for a while is not shown beside its successor. */
const isInForce = ({ revokedAt, replacedBy, expiresAt }: ListedKey, now: number): boolean =>
  revokedAt === null && replacedBy === null && (expiresAt === null || expiresAt.getTime() > now);
