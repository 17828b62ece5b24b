// Usage and its cost, and what is left of budgets: administrators see everybody's, other callers their own.
import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { csvField } from '#libs/audit/export-audit.js';
import type { Config } from '#libs/config/schema.js';
import { sumNames, UsageStore, type UsageGroup, type UsageRow, type UsageSum } from '#libs/usage/usage-store.js';
import { validated } from '../../chat-apis/invalid-value.js';
import { attachment } from '../content-type.js';
import { readPageLimit } from '../controllers/page-limit.js';
import { CONFIG } from '../injection-tokens.js';
import type { keyBudget } from '../openapi/key-shapes.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import { requestContext } from '../request-context.js';
import { isAdministrator } from './administrator.guard.js';
import {
  budgetsCursorOf,
  budgetsQuerySchema,
  readBudgetsCursor,
  usageQueryOf,
  usageQuerySchema,
} from './list-queries.js';
import { budgetUses } from './shown-key.js';

const usualPage = 100;
const maxPage = 1_000;

interface UsageReport {
  data: UsageRow[];
  total: UsageSum;
}

@Controller('api/usage')
export class UsageController {
  constructor(
    private readonly store: UsageStore,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Get()
  async report(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Query() query: Record<string, unknown>,
  ): Promise<UsageReport | string> {
    const { format, ...given } = validated(usageQuerySchema, query);
    const asked = usageQueryOf({ ...given, format });
    const own = ownerOf(request);
    // Nobody is in two places: a filter for somebody else finds nothing of the caller.
    const isOther = own !== undefined && asked.principal !== undefined && asked.principal !== own;
    const until = isOther ? new Date(0) : asked.until;
    const report = await this.store.report({ ...asked, until, principal: own ?? asked.principal });
    if (format === 'json') return report;
    reply.header('content-type', 'text/csv; charset=utf-8; header=present');
    reply.header('content-disposition', attachment('usage.csv'));
    return toCsv(report.data, asked.by);
  }

  @Get('budgets')
  async budgets(
    @Req() request: FastifyRequest,
    @Query() query: Record<string, unknown>,
  ): Promise<{ data: Shown<typeof keyBudget>[]; next_cursor: string | null }> {
    const { limit, cursor } = validated(budgetsQuerySchema, query);
    const size = readPageLimit(limit, maxPage, usualPage);
    const found = await this.store.budgeted({
      settings: this.config.budgets,
      principal: ownerOf(request),
      limit: size + 1,
      after: readBudgetsCursor(cursor),
    });
    const page = found.slice(0, size);
    const data = page.map((spender) => {
      const { key, principal, name, prefix, dayUsd, monthUsd } = spender;
      return { key, principal, name, prefix, ...budgetUses(spender, { day: dayUsd, month: monthUsd }) };
    });
    const last = page.at(-1);
    const hasMore = found.length > size && last !== undefined;
    return {
      data,
      next_cursor: hasMore ? budgetsCursorOf(last.share, last.key ?? `user:${last.principal}`) : null,
    };
  }
}

/** Whose usage the caller sees; undefined: everybody's. */
const ownerOf = (request: FastifyRequest): string | undefined =>
  isAdministrator(request) ? undefined : requestContext(request).principal;

function toCsv(rows: readonly UsageRow[], by: readonly UsageGroup[]): string {
  const names = [...by, ...(by.includes('key') ? (['key_owner', 'key_name'] as const) : []), ...sumNames];
  const lines = [names.join(','), ...rows.map((row) => names.map((name) => csvField(row[name])).join(','))];
  return lines.map((line) => `${line}\r\n`).join('');
}
