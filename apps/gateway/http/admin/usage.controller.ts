// What was used and what it cost: an administrator sees everybody's, others their own.
import { Controller, Get, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { UsageStore, type UsageRow, type UsageSum } from '#libs/usage/usage-store.js';
import { requestContext } from '../request-context.js';
import { readUsageQuery } from './usage.dto.js';

@Controller('api/usage')
export class UsageController {
  constructor(private readonly store: UsageStore) {}

  @Get()
  report(
    @Req() request: FastifyRequest,
    @Query() query: Record<string, unknown>,
  ): Promise<{ data: UsageRow[]; total: UsageSum }> {
    const { principal, access } = requestContext(request);
    const seesAll = access?.scopes.includes('admin') === true;
    return this.store.report({
      ...readUsageQuery(query),
      principal: seesAll ? undefined : principal,
    });
  }
}
