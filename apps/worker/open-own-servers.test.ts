// Tools in the worker's process: found as providers, and called like those of any server.
import { Injectable, Module, type Type } from '@nestjs/common';
import { afterEach, expect } from 'vitest';
import { z } from 'zod';
import { McpServer, McpTool } from '#libs/mcp-server/decorators.js';
import type { ToolContext } from '#libs/mcp-server/tool-context.js';
import { silentLogger } from '#libs/logging/logger.js';
import { openToolServers } from '../../test/support/tool-servers.js';
import { verifies } from '../../test/verifies.js';
import { openOwnServers } from './open-own-servers.js';

@Injectable()
class Clock {
  closed = 0;
  now(): number {
    return 1_000;
  }
  onModuleDestroy(): void {
    this.closed += 1;
  }
}

@McpServer({ name: 'clock' })
class ClockTools {
  constructor(readonly clock: Clock) {}

  @McpTool({ description: 'The time.', input: z.object({}) })
  time(_input: object, context: ToolContext) {
    return { time: this.clock.now(), user: context.userId };
  }
}

@McpServer({ name: 'clock' })
class OtherClock {}

@McpServer({ name: 'workspace' })
class Impostor {}

/** Provided by a factory, without a class in the module. */
const clockTools = { provide: ClockTools, inject: [Clock], useFactory: (clock: Clock) => new ClockTools(clock) };

const toClose: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0).toReversed()) await close();
});

async function opened(providers: NonNullable<Parameters<typeof Module>[0]['providers']>) {
  @Module({ providers })
  class OwnTools {}
  const own = await openOwnServers([OwnTools as Type], ['workspace'], {
    logger: silentLogger,
    openWorkspace: () => ({}) as never,
  });
  toClose.push(own.close);
  return own;
}

async function served(mcpServers: Record<string, object>) {
  const own = await opened([Clock, clockTools]);
  const builtins = new Map(own.servers.map((server) => [server.name, server]));
  const servers = await openToolServers({ workspace: { enabled: false }, ...mcpServers }, { builtins });
  toClose.push(servers.close);
  return servers;
}

verifies('tools.decorators-in-worker', 'listed and called without a setting', async () => {
  const { configured, call } = await served({});
  expect(configured.servers).toMatchObject([{ name: 'clock', builtin: true, trusted: true, isolation: 'builtin' }]);
  const answer = await call('clock', 'time');
  expect(answer.structuredContent).toMatchObject({ time: 1_000 });
});

verifies('tools.decorators-in-worker', 'renamed by the configuration, or switched off', async () => {
  const renamed = await served({ watch: { builtin: 'clock' } });
  expect(renamed.configured.servers).toMatchObject([{ name: 'watch', builtin: true }]);
  const off = await served({ clock: { builtin: 'clock', enabled: false }, typo: { builtin: 'clok' } });
  expect(off.configured.servers).toEqual([]);
  expect(off.configured.refused).toMatchObject([{ name: 'typo', reason: "there is no builtin server 'clok'" }]);
});

verifies('tools.decorators-in-worker', 'a name that is taken stops the start, and leaves nothing open', async () => {
  const clock = new Clock();
  const provided = { provide: Clock, useValue: clock };
  await expect(opened([provided, clockTools, OtherClock])).rejects.toThrow(/'clock'.*ClockTools.*OtherClock/);
  await expect(opened([provided, Impostor])).rejects.toThrow(/'workspace'/);
  expect(clock.closed).toBe(2);
});
