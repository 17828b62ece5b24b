// Changed definitions of tools: what is held back, and what an operator decides about it.
import { Controller, Get, HttpCode, Inject, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { OperatorAccess, operatorRequest } from '#libs/health/operator-access.js';
import type { ToolChange } from '#libs/runs/catalog/tool-changes.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { ToolChangeDecisions } from '../../tools/catalog/tool-change-decisions.js';
import { requestContext } from '../request-context.js';
import { readDecideChanges } from './tool-changes.dto.js';

const defaultPage = 20;
const maxPage = 50;

@Controller('api/tools/changes')
export class ToolChangesController {
  constructor(
    private readonly decisions: ToolChangeDecisions,
    @Inject(OperatorAccess) private readonly access: OperatorAccess,
  ) {}

  @Get()
  async list(
    @Req() request: FastifyRequest,
    @Query('limit') limit?: string,
    @Query('after') after?: string,
  ): Promise<{ changes: JsonObject[]; has_more: boolean }> {
    this.access.admit(operatorRequest(request.raw));
    const size = readLimit(limit);
    const page = { limit: size + 1, ...(after === undefined ? {} : { after: readAfter(after) }) };
    const found = await this.decisions.list(page);
    return { changes: found.slice(0, size).map(show), has_more: found.length > size };
  }

  @Post()
  @HttpCode(200)
  async decide(@Req() request: FastifyRequest): Promise<{ decided: JsonObject[] }> {
    this.access.admit(operatorRequest(request.raw));
    const { decision, changes } = readDecideChanges(request.body);
    const decided = await this.decisions.decide(decision, changes, requestContext(request));
    return { decided: decided.map(({ server, tool, grade }) => ({ server, tool, change: grade })) };
  }
}

function show({ server, tool, grade, decision, changedAt, approved, held }: ToolChange): JsonObject {
  return {
    server,
    tool,
    change: grade,
    state: decision,
    changed_at: changedAt.toISOString(),
    // What `after` takes.
    id: `${server}/${tool}`,
    hash: held?.hash ?? null,
    approved,
    held,
  };
}

function readLimit(limit: unknown): number {
  if (limit === undefined) return defaultPage;
  if (typeof limit === 'string' && /^\d{1,3}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= maxPage) {
    return Number(limit);
  }
  throw new AppError('invalid_value', `limit must be 1 to ${maxPage}`, { param: 'limit' });
}

/** Names of servers have no slash, names of tools may. */
function readAfter(after: unknown): { server: string; tool: string } {
  const [, server, tool] = (typeof after === 'string' && /^([\w-]{1,64})\/(.{1,512})$/s.exec(after)) || [];
  if (server === undefined || tool === undefined) {
    throw new AppError('invalid_value', 'after must be the id of a change', { param: 'after' });
  }
  return { server, tool };
}
