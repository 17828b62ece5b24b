// The API of tools: lists them, and calls one through the same queue, policy, journal and audit as in a chat.
import { Controller, Get, HttpCode, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { shownWait } from '#libs/waits/wait.js';
import { WorkSlices } from '#libs/concurrency/work-slices.js';
import type { Flow } from '#libs/concurrency/flow.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { Config } from '#libs/config/schema.js';
import { contentText } from '#libs/schemas/content-block.js';
import { Toolsets } from '#libs/policy/toolset.js';
import { AppError } from '#libs/schemas/errors.js';
import { sessionIdPattern } from '#libs/schemas/identifiers.js';
import { appUriOf, isForModels } from '#libs/mcp-server/tool-app.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { UsageStore } from '#libs/usage/usage-store.js';
import { requireObject, validated } from '../../chat-apis/invalid-value.js';
import { CallEvents } from '../../turn/dispatch/call-events.js';
import type { TakeTurnEvents } from '../../turn/record.js';
import { toShownResult } from '../../turn/turn-state.js';
import { shownSignIn } from '../../turn/wait.js';
import { EventsSseRenderer } from '../../openai-api/render-events.js';
import { ApprovalNeeded } from '../../govern/approval-needed.js';
import { failureOf, toolNotFound, type EndedToolCall } from '../../turn/dispatch/call-tool.js';
import { type BegunToolCall, KeyedToolCalls } from '../../turn/dispatch/keyed-tool-calls.js';
import { ToolPolicy } from '../../govern/tool-policy.js';
import { definitionTokens } from '#libs/tool-search/definition-tokens.js';
import { FirstCatalog } from '../../tools/first-catalog.js';
import { isAdministrator } from '../admin/administrator.guard.js';
import { readIdempotencyKey } from '../turns/idempotency-key.js';
import { CONFIG, ERROR_OBSERVER } from '../injection-tokens.js';
import { type endedCall, type Shown, type tool as shownTool } from '../openapi/open-api-shapes.js';
import { requestContext } from '../request-context.js';
import { streamTurn } from '../turns/stream-turn.js';
import { TurnAdmission } from '../../govern/turn-admission.js';

const nameProblem = 'must be a string of 1 to 512 characters';
export const callToolSchema = z.object({
  name: z.string(nameProblem).min(1, nameProblem).max(512, nameProblem),
  arguments: z.unknown().optional().meta({ type: 'object' }),
  session_id: z.string().regex(sessionIdPattern).nullish(),
  timeout_ms: z.int().min(1).max(86_400_000).nullish(),
});

@Controller('api/tools')
export class ToolsController {
  @Inject(TurnAdmission) private readonly admission!: TurnAdmission;
  @Inject(FirstCatalog) private readonly firstCatalog!: FirstCatalog;
  @Inject(Toolsets) private readonly toolsets!: Toolsets;
  @Inject(UsageStore) private readonly usage!: UsageStore;

  constructor(
    private readonly policy: ToolPolicy,
    private readonly calls: KeyedToolCalls,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(ERROR_OBSERVER) private readonly observeError: (error: AppError) => void,
  ) {}

  @Get()
  async list(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Query('include') include?: string,
    @Query('toolset') toolset?: string,
  ): Promise<void> {
    const caller = requestContext(request);
    const parts = readToolParts(include);
    await this.firstCatalog.wait(caller.signal);
    const label = this.setOf(toolset);
    if (parts.size > 0) return this.listWith(parts, request, { reply, label });
    const catalog = this.policy.catalogOf(caller);
    const asked = this.policy.mayNeedApprovals(caller, label);
    const etag = `"${asked.tools.size === 0 ? catalog.version : canonicalHash([catalog.version, asked.version])}"`;
    reply.header('etag', etag).header('cache-control', 'private, no-cache');
    if (matches(request.headers['if-none-match'], etag)) {
      await reply.status(304).send();
      return;
    }
    await sendList(reply, catalog.list(label), (tool) => this.show(tool, asked.tools.has(tool)));
  }

  /** With what changes all the time, so without an ETag. Administrators see everybody's calls, other callers their own. */
  private async listWith(
    parts: ReadonlySet<ToolPart>,
    request: FastifyRequest,
    { reply, label }: { reply: FastifyReply; label: string | undefined },
  ): Promise<void> {
    const caller = requestContext(request);
    const whose = isAdministrator(request) ? undefined : caller.principal;
    const used = parts.has('usage') ? await this.usage.ofTools(whose) : undefined;
    reply.header('cache-control', 'private, no-store');
    const asked = this.policy.mayNeedApprovals(caller, label);
    await sendList(reply, this.policy.catalogOf(caller).list(label), (tool) => ({
      ...this.show(tool, asked.tools.has(tool)),
      ...(parts.has('verdict') ? { verdict: this.policy.verdict(tool, caller) } : {}),
      ...(used === undefined
        ? {}
        : { last_30_days: used.get(`${tool.server}/${tool.tool}`) ?? { calls: 0, failures: 0 } }),
    }));
  }

  /** A wildcard, because names may contain slashes. */
  @Get('*')
  async one(@Param('*') name: string, @Req() request: FastifyRequest): Promise<Shown<typeof shownTool>> {
    const caller = requestContext(request);
    await this.firstCatalog.wait(caller.signal);
    const tool = this.policy.catalogOf(caller).find(name);
    if (tool === undefined) throw toolNotFound(name);
    return this.show(tool, this.policy.mayNeedApproval(tool, caller));
  }

  /** @throws AppError invalid_value for a toolset that there is not */
  private setOf(toolset: unknown): string | undefined {
    if (toolset === undefined) return undefined;
    if (typeof toolset === 'string' && this.toolsets.get(toolset) !== undefined) return toolset;
    throw new AppError('invalid_value', 'toolset must be the name of a toolset', { param: 'toolset' });
  }

  private show(tool: CatalogTool, requiresApproval: boolean): Shown<typeof shownTool> {
    return show(tool, requiresApproval, [...this.toolsets.namesOf(tool)]);
  }

  @Post('call')
  @HttpCode(200)
  async call(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    // The call counts as a turn, so that a shutdown waits for it.
    const context = requestContext(request);
    const leave = await this.admission.enter(context);
    try {
      await this.firstCatalog.wait(context.signal);
      await this.callTool(request, reply);
    } catch (error) {
      if (!(error instanceof ApprovalNeeded)) throw error;
      const { approval } = error;
      const shown =
        approval.kind === 'sign_in' ? { sign_in: shownSignIn(approval) } : { approval: shownWait(approval) };
      await reply.status(202).send(shown);
    } finally {
      leave();
    }
  }

  private async callTool(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const body = validated(callToolSchema, requireObject(request.body));
    const context = requestContext(request);
    const streams = wantsStream(request);
    const begun = await this.calls.prepare(
      {
        name: body.name,
        argumentsText: argumentsText(body.arguments),
        sessionId: body.session_id ?? undefined,
        timeoutMs: body.timeout_ms ?? undefined,
        idempotencyKey: readIdempotencyKey(request),
      },
      { ...context, questions: streams ? 'hold' : 'return' },
    );
    if (begun.runId !== undefined) reply.header('x-run-id', begun.runId);
    if (streams) return this.stream(begun, request, reply);
    const ended = await begun.run(() => undefined);
    if (ended.outcome.state !== 'completed') throw failureOf(ended.tool, ended.outcome);
    await reply.type('application/json').send(answer(ended));
  }

  private async stream(begun: BegunToolCall, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { server } = this.config;
    const created = Math.floor(Date.now() / 1_000);
    await streamTurn(
      reply,
      (take) => runStreamed(begun, take),
      () => new EventsSseRenderer({ id: begun.id, created }),
      {
        requestId: requestContext(request).requestId,
        headersAfterMs: server.headers_after_ms,
        keepAliveMs: server.keep_alive_ms,
        onError: this.observeError,
      },
    );
  }
}

/** Written in slices: a catalog may have 10,000 tools, and other requests do not wait for all of them. */
async function sendList(
  reply: FastifyReply,
  tools: readonly CatalogTool[],
  show: (tool: CatalogTool) => object,
): Promise<void> {
  const slices = new WorkSlices();
  const data: string[] = [];
  for (const tool of tools) {
    await slices.next();
    data.push(JSON.stringify(show(tool)));
  }
  await reply.type('application/json').send(`{"object":"list","data":[${data.join(',')}]}`);
}

/** Emits `tool_progress` events, then one `tool_result`. */
async function runStreamed(begun: BegunToolCall, take: TakeTurnEvents): Promise<void> {
  let n = 0;
  const events = new CallEvents((batch) => take(batch.map((event) => ({ n: ++n, event }))) as Flow);
  const { id: callId, outcome, sessionId } = await begun.run((event) => events.add(event));
  const result = { ...toShownResult(outcome), ...beyondText(outcome), session_id: sessionId };
  events.add({ type: 'tool_result', callId, result });
  await events.drained;
}

function answer({ id, sessionId, outcome }: Omit<EndedToolCall, 'tool'>): Shown<typeof endedCall> {
  return {
    success: true,
    content: contentText(outcome.blocks),
    ...beyondText(outcome),
    id,
    session_id: sessionId,
    duration_ms: Math.round(outcome.durationMs),
    cached: outcome.cached ?? false,
    truncated: outcome.truncated,
  };
}

/** What of a result its text does not say. */
function beyondText({ blocks, structuredContent, meta }: EndedToolCall['outcome']) {
  const onlyText = blocks.every((block) => block.type === 'text');
  return {
    ...(onlyText ? {} : { blocks }),
    ...(structuredContent === undefined ? {} : { structured_content: structuredContent }),
    ...(meta === undefined ? {} : { meta }),
  };
}

/** An object or its JSON text, checked later against the tool's schema. */
function argumentsText(given: unknown): string {
  if (given === undefined || given === null) return '{}';
  return typeof given === 'string' ? given : JSON.stringify(given);
}

function show(tool: CatalogTool, requiresApproval: boolean, toolsets: string[]): Shown<typeof shownTool> {
  return {
    type: 'function',
    function: { name: tool.name, description: tool.description, parameters: tool.inputSchema },
    server: tool.server,
    ...(toolsets.length === 0 ? {} : { toolsets }),
    annotations: { ...tool.annotations },
    requires_approval: requiresApproval,
    available: tool.available,
    title: tool.title,
    output_schema: tool.outputSchema,
    metadata: tool.metadata,
    app: tool.appMeta && { shows_results: appUriOf(tool) !== undefined, for_models: isForModels(tool) },
    tokens: definitionTokens(tool),
  };
}

type ToolPart = 'verdict' | 'usage';
const toolParts: readonly ToolPart[] = ['verdict', 'usage'];

/** @throws AppError invalid_value */
function readToolParts(include: unknown): Set<ToolPart> {
  const named = include === undefined ? [] : typeof include === 'string' ? include.split(',') : [''];
  const parts = new Set(toolParts.filter((part) => named.includes(part)));
  if (parts.size === new Set(named).size) return parts;
  throw new AppError('invalid_value', `include must be a list of ${toolParts.join(', ')}`, { param: 'include' });
}

function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((each) => ['*', etag, `W/${etag}`].includes(each.trim()));
}

function wantsStream(request: FastifyRequest): boolean {
  return request.headers.accept?.includes('text/event-stream') === true;
}
