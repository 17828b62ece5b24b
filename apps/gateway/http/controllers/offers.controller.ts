// The API of resources and prompts of tool servers: lists them, and reads them on the path of a tool call.
import { Body, Controller, Get, HttpCode, Inject, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { JsonObject } from '#libs/schemas/json.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { requireObject, validated } from '../../chat-apis/invalid-value.js';
import { TurnAdmission } from '../../govern/turn-admission.js';
import { defaultSessionId } from '../../mcp/caller-of.js';
import { CallerOffers, type OfferAsker } from '../../mcp/offers/caller-offers.js';
import type { Named } from '../../mcp/offers/named-offers.js';
import { pageOf } from '../../mcp/page-of.js';
import { FirstCatalog } from '../../tools/first-catalog.js';
import type {
  completedArgument,
  filledPrompt,
  offeredPrompt,
  offeredResource,
  offeredTemplate,
  resourceContents,
} from '../openapi/offer-operations.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import { requestContext } from '../request-context.js';
import { completeSchema, getPromptSchema, listOffersQuerySchema, readResourceSchema } from './offers.dto.js';
import { readPageLimit } from './page-limit.js';

interface Page<Item> {
  object: 'list';
  data: Item[];
  next_cursor: string | null;
}

@Controller('api')
export class OffersController {
  @Inject(TurnAdmission) private readonly admission!: TurnAdmission;
  @Inject(FirstCatalog) private readonly firstCatalog!: FirstCatalog;

  constructor(private readonly offers: CallerOffers) {}

  @Get('resources')
  resources(@Req() request: FastifyRequest, @Query() query: unknown): Promise<Page<Shown<typeof offeredResource>>> {
    return this.page(request, query, (caller) => this.offers.resources(caller), 'uri');
  }

  @Get('resources/templates')
  templates(@Req() request: FastifyRequest, @Query() query: unknown): Promise<Page<Shown<typeof offeredTemplate>>> {
    return this.page(request, query, (caller) => this.offers.templates(caller), 'uriTemplate');
  }

  @Get('prompts')
  prompts(@Req() request: FastifyRequest, @Query() query: unknown): Promise<Page<Shown<typeof offeredPrompt>>> {
    return this.page(request, query, (caller) => this.offers.prompts(caller), 'name');
  }

  @Post('resources/read')
  @HttpCode(200)
  async read(@Req() request: FastifyRequest, @Body() body: unknown): Promise<Shown<typeof resourceContents>> {
    const { uri, server, session_id } = validated(readResourceSchema, requireObject(body));
    const asked = { uri, server: server ?? undefined };
    return { contents: await this.asked(request, session_id, (asker) => this.offers.read(asked, asker)) };
  }

  @Post('prompts/get')
  @HttpCode(200)
  async prompt(@Req() request: FastifyRequest, @Body() body: unknown): Promise<Shown<typeof filledPrompt>> {
    const { name, server, session_id, arguments: args } = validated(getPromptSchema, requireObject(body));
    const asked = { name, server: server ?? undefined, arguments: args ?? {} };
    const filled = await this.asked(request, session_id, (asker) => this.offers.prompt(asked, asker));
    return filled as unknown as Shown<typeof filledPrompt>;
  }

  @Post('completions/arguments')
  @HttpCode(200)
  async complete(@Req() request: FastifyRequest, @Body() body: unknown): Promise<Shown<typeof completedArgument>> {
    const { ref, server, session_id, argument, arguments: args } = validated(completeSchema, requireObject(body));
    const asked = {
      ref:
        ref.type === 'prompt' ? ({ ...ref, type: 'ref/prompt' } as const) : ({ ...ref, type: 'ref/resource' } as const),
      server: server ?? undefined,
      argument,
      ...(args === undefined || args === null ? {} : { context: { arguments: args } }),
    };
    const { completion } = (await this.asked(request, session_id, (asker) =>
      this.offers.complete(asked, asker),
    )) as unknown as { completion: Shown<typeof completedArgument> };
    return completion;
  }

  private async page<Item extends JsonObject, Shows>(
    request: FastifyRequest,
    query: unknown,
    listOf: (caller: RequestContext) => readonly Named<Item>[],
    nameMember: string,
  ): Promise<Page<Shows>> {
    const caller = requestContext(request);
    const { server, text, limit, cursor } = validated(listOffersQuerySchema, query);
    const pageSize = readPageLimit(limit, 250, 100);
    await this.firstCatalog.wait(caller.signal);
    const wanted = text?.toLowerCase();
    const found = listOf(caller).filter(
      (each) =>
        (server === undefined || each.owner.server === server) && (wanted === undefined || hasText(each, wanted)),
    );
    const { shown, next } = pageOf(found, { cursor, nameOf: ({ name }) => name, pageSize });
    const data = shown.map(({ item, name, owner }) => ({ ...item, [nameMember]: name, server: owner.server }) as Shows);
    return { object: 'list', data, next_cursor: next.nextCursor ?? null };
  }

  /** What is read counts as a turn, so that a shutdown waits for it. */
  private async asked<Answer>(
    request: FastifyRequest,
    sessionId: string | null | undefined,
    ask: (asker: OfferAsker) => Promise<Answer>,
  ): Promise<Answer> {
    const caller = requestContext(request);
    const leave = await this.admission.enter(caller);
    try {
      await this.firstCatalog.wait(caller.signal);
      return await ask({ caller, sessionId: sessionId ?? defaultSessionId });
    } finally {
      leave();
    }
  }
}

function hasText({ name, item }: Named<JsonObject>, wanted: string): boolean {
  return [name, item['name'], item['title'], item['description']].some(
    (each) => typeof each === 'string' && each.toLowerCase().includes(wanted),
  );
}
