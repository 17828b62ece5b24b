// Calls that wait for an approval: the caller's own, or everybody's if the caller may decide for others.
import { Body, Controller, Get, HttpCode, Param, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type Wait, type WaitState, waitStates, type WaitDecision, shownWait } from '#libs/waits/wait.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { Waits } from '../../govern/waits.js';
import { requestContext } from '../request-context.js';
import { DecideApprovalDto, ListApprovalsDto } from './approvals.dto.js';
import { readPageAfter, readPageLimit } from '../controllers/page-limit.js';

const defaultPage = 100;
const maxPage = 1_000;

@Controller('api/approvals')
export class ApprovalsController {
  constructor(private readonly approvals: Waits) {}

  @Get()
  async list(
    @Req() request: FastifyRequest,
    @Query() asked: ListApprovalsDto,
  ): Promise<{ data: JsonObject[]; has_more: boolean }> {
    const size = readPageLimit(asked.limit, maxPage, defaultPage);
    const found = await this.approvals.list(
      {
        principal: asked.principal,
        states: readStates(asked.state),
        tool: asked.tool,
        oldestFirst: asked.order === 'asc',
        after: readPageAfter(asked.after),
        limit: size + 1,
      },
      requestContext(request),
    );
    return {
      data: found.slice(0, size).map((wait) => shownTo(requestContext(request), wait)),
      has_more: found.length > size,
    };
  }

  @Get(':id')
  async one(@Req() request: FastifyRequest, @Param('id') id: string): Promise<JsonObject> {
    const caller = requestContext(request);
    return shownTo(caller, await this.approvals.get(id, caller));
  }

  @Post(':id')
  @HttpCode(200)
  async decide(
    @Req() request: FastifyRequest,
    @Param('id') id: string,
    @Body() { decision, reason }: DecideApprovalDto,
  ): Promise<JsonObject> {
    // Read from the raw body: the validated copy lacks members with special names.
    const { arguments: args } = request.body as { arguments?: JsonObject | null };
    if (decision === 'deny' && args != null) {
      throw new AppError('invalid_value', 'arguments are only allowed with an approval', { param: 'arguments' });
    }
    const given: WaitDecision = { decision, reason: reason ?? undefined, arguments: args ?? undefined };
    const caller = requestContext(request);
    return shownTo(caller, await this.approvals.decide(id, given, caller));
  }
}

function readStates(given: string | undefined): WaitState[] | undefined {
  return given?.split(',').map((state) => {
    const known = waitStates.find((each) => each === state);
    if (known !== undefined) return known;
    throw new AppError('invalid_value', `state must be one or more of ${waitStates.join(', ')}`, {
      param: 'state',
    });
  });
}

/** Where somebody signs in is for them alone: whoever else signed in there would give them another's account. */
function shownTo({ principal }: RequestContext, wait: Wait): JsonObject {
  const { authorization_url: address, ...shown } = shownWait(wait);
  return address !== undefined && wait.principal === principal ? { ...shown, authorization_url: address } : shown;
}
