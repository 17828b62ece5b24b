// Usage and its cost: administrators see everybody's, other callers their own.
import { Controller, Get, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { UsageStore, type UsageGroup, usageGroups, type UsageRow, type UsageSum } from '#libs/usage/usage-store.js';
import { validated } from '../../chat-apis/invalid-value.js';
import { requestContext } from '../request-context.js';

const group = `(?:${usageGroups.join('|')})`;
const day = z.union([z.iso.date(), z.iso.datetime({ offset: true, local: true })], {
  error: 'must be a date or a time',
});

const usageQuerySchema = z.object({
  by: z
    .string()
    .regex(new RegExp(`^${group}(?:,${group})*$`), `must be a list of ${usageGroups.join(', ')}`)
    .optional(),
  since: day.optional(),
  until: day.optional(),
});

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
    const { by, since, until } = validated(usageQuerySchema, query);
    return this.store.report({
      by: (by?.split(',') ?? []) as UsageGroup[],
      since: since === undefined ? undefined : new Date(since),
      until: until === undefined ? undefined : new Date(until),
      principal: seesAll ? undefined : principal,
    });
  }
}
