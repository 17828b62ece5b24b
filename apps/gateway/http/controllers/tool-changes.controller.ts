// Lists changed definitions of tools, prompts and instructions that are held back, and lets an operator accept or reject them.
import { Body, Controller, Get, HttpCode, Post, Query, Req, UseGuards } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { OperatorGuard } from '#libs/health/operator.guard.js';
import type { ChangedDefinition, ToolChange } from '#libs/runs/catalog/tool-changes.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { DefinitionKind } from '#libs/schemas/tool-change.js';
import { ToolChangeDecisions } from '../../tools/tool-change-decisions.js';
import { requestContext } from '../request-context.js';
import { readPageLimit } from './page-limit.js';
import { DecideChangesDto } from './tool-changes.dto.js';

const maxPage = 50;

@Controller('api/tools/changes')
@UseGuards(OperatorGuard)
export class ToolChangesController {
  constructor(private readonly decisions: ToolChangeDecisions) {}

  @Get()
  async list(
    @Query('limit') limit?: string,
    @Query('after') after?: string,
  ): Promise<{ changes: JsonObject[]; has_more: boolean }> {
    const size = readPageLimit(limit, maxPage);
    const page = { limit: size + 1, ...(after === undefined ? {} : { after: readAfter(after) }) };
    const found = await this.decisions.list(page);
    return { changes: found.slice(0, size).map(show), has_more: found.length > size };
  }

  @Post()
  @HttpCode(200)
  async decide(
    @Req() request: FastifyRequest,
    @Body() { decision, changes }: DecideChangesDto,
  ): Promise<{ decided: JsonObject[] }> {
    const decided = await this.decisions.decide(decision, changes, requestContext(request));
    return { decided: decided.map(({ kind, server, tool, grade }) => ({ kind, server, tool, change: grade })) };
  }
}

function show({ kind, server, tool, grade, decision, changedAt, approved, held }: ToolChange): JsonObject {
  return {
    kind,
    server,
    tool,
    change: grade,
    state: decision,
    changed_at: changedAt.toISOString(),
    // The value for `after`.
    id: `${kind === 'tool' ? '' : `${kind}:`}${server}/${tool}`,
    hash: held?.hash ?? null,
    approved,
    held,
  };
}

/** A server's name has no slash, a tool's name may. */
function readAfter(after: unknown): ChangedDefinition {
  const idPattern = /^(?:(prompt|instructions):)?([\w-]{1,64})\/(.{0,512})$/s;
  const [, kind = 'tool', server, tool] = (typeof after === 'string' && idPattern.exec(after)) || [];
  if (server === undefined || tool === undefined) {
    throw new AppError('invalid_value', 'after must be the id of a change', { param: 'after' });
  }
  return { kind: kind as DefinitionKind, server, tool };
}
