// The API of apps: what a page needs to show the app of a tool call.
import { Controller, HttpCode, Inject, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Config } from '#libs/config/schema.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { requireObject, validated } from '../../chat-apis/invalid-value.js';
import { FirstCatalog } from '../../tools/first-catalog.js';
import { APPS_PORTS, CONFIG } from '../injection-tokens.js';
import type { Shown, shownApp } from '../openapi/open-api-shapes.js';
import { requestContext } from '../request-context.js';
import { appFrameAddress, ownHostsOf } from './app-frame.js';
import { readApp, type ReadAppPorts } from './read-app.js';

export const showAppSchema = z.object({ call_id: z.string().min(1).max(128) });

@Controller('api/apps')
export class AppsController {
  @Inject(FirstCatalog) private readonly firstCatalog!: FirstCatalog;

  constructor(
    @Inject(APPS_PORTS) private readonly ports: ReadAppPorts,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Post()
  @HttpCode(200)
  async show(@Req() request: FastifyRequest): Promise<Shown<typeof shownApp>> {
    const { call_id: callId } = validated(showAppSchema, requireObject(request.body));
    const caller = requestContext(request);
    await this.firstCatalog.wait(caller.signal);
    const { call, tool, html, ui, tools } = await readApp(callId, caller, this.ports);
    return {
      object: 'app',
      call_id: call.id,
      session_id: call.sessionId,
      tool: { name: tool.tool, description: tool.description, inputSchema: tool.inputSchema },
      arguments: call.arguments,
      result: toCallToolResult(call.outcome),
      html,
      frame: appFrameAddress(ui['csp'], ownHostsOf(request, this.config.server.public_url)),
      tools,
    };
  }
}

function toCallToolResult(outcome: ToolOutcome | undefined): Shown<typeof shownApp>['result'] {
  const { blocks = [], structuredContent, meta, state } = outcome ?? {};
  return {
    content: blocks,
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...(state === 'completed' ? {} : { isError: true }),
    ...(meta === undefined ? {} : { _meta: meta }),
  };
}
