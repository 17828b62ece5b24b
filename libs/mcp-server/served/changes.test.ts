// What clients of a decorated server are told of changes: lists, and resources that they subscribed to.
import { EventEmitter, once } from 'node:events';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect } from 'vitest';
import { z } from 'zod';
import { silentLogger } from '#libs/logging/logger.js';
import { createTestServer } from '#libs/testing/test-server.js';
import { verifies } from '../../../test/verifies.js';
import { createMcpServer } from '../create-mcp-server.js';
import { McpPrompt, McpResource, McpServer, McpTool } from '../decorators.js';
import { type HttpServing, serveOverHttp } from '../serve-over-http.js';
import type { ToolServer } from '../tool-server.js';

@McpServer({ name: 'changing' })
class Changing {
  @McpResource({ uri: 'changing://{name}' })
  read({ name }: Record<string, string>): string {
    return name!;
  }

  @McpPrompt({ description: 'Greets.' })
  greet(): string {
    return 'Hello';
  }

  @McpTool({ description: 'Works.', input: z.object({}) })
  work(): string {
    return 'done';
  }
}

let server: ToolServer;
let serving: HttpServing;
beforeAll(async () => {
  server = createMcpServer(new Changing(), { logger: silentLogger });
  serving = await serveOverHttp(server, { logger: silentLogger });
});
afterAll(async () => {
  await serving.close(0);
  await server.close();
});

const kinds = ['tools', 'prompts', 'resources'] as const;

/** Notes what the client is told, and emits `told`. */
function listening(client: Client): { told: string[]; heard: EventEmitter } {
  const told: string[] = [];
  const heard = new EventEmitter();
  const note = (what: string) => {
    told.push(what);
    heard.emit('told');
  };
  for (const kind of kinds) client.setNotificationHandler(`notifications/${kind}/list_changed`, () => note(kind));
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => note(params.uri));
  return { told, heard };
}

function changeAll(of: ToolServer): void {
  const place = 'changes.test';
  of.register({ name: 'later', place, options: { description: 'Later.', input: z.object({}) }, handler: () => '' });
  of.registerPrompt({ name: 'later', place, options: { description: 'Later.' }, fill: () => '' });
  of.registerResource({ options: { uri: 'later://one' }, method: 'later', place, read: () => '' });
  expect([of.remove('later'), of.removePrompt('later'), of.removeResource('later://one')]).toEqual([true, true, true]);
  expect([of.remove('later'), of.removePrompt('later'), of.removeResource('later://one')]).toEqual([
    false,
    false,
    false,
  ]);
  of.resourceUpdated('changing://other');
  of.resourceUpdated('changing://mine');
}
const all = ['tools', 'prompts', 'resources', 'tools', 'prompts', 'resources', 'changing://mine'];

/** Resolves with what the client was told from the first change of `changeAll` on. */
async function untilAll(heard: EventEmitter, told: string[]): Promise<string[]> {
  const signal = AbortSignal.timeout(5_000);
  const since = () => told.slice(told.indexOf('tools'));
  while (!told.includes('tools') || since().length < all.length) await once(heard, 'told', { signal });
  return since();
}

verifies('tools.decorators-changes', 'before 2026-07-28, on the stream of a session', async () => {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'legacy' } });
  const { told, heard } = listening(client);
  await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)));
  await client.subscribeResource({ uri: 'changing://mine' });
  await client.subscribeResource({ uri: 'changing://other' });
  await client.unsubscribeResource({ uri: 'changing://other' });
  await expect(client.subscribeResource({ uri: 'unknown://x' })).rejects.toMatchObject({ code: -32602 });
  const hears = () => {
    server.resourceUpdated('changing://mine');
    return told.length;
  };
  // The client opens the stream of its session by itself, some time after it has connected.
  await expect.poll(hears).toBeGreaterThan(0);
  changeAll(server);
  expect(await untilAll(heard, told)).toEqual(all);
  await client.close();
});

verifies('tools.decorators-changes', 'since 2026-07-28, on a subscription', async () => {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const { told, heard } = listening(client);
  await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)));
  const subscription = await client.listen({
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ['changing://mine'],
  });
  changeAll(server);
  expect(await untilAll(heard, told)).toEqual(all);
  await subscription.close();
  await client.close();
});

verifies('tools.decorators-changes', 'on a connection of its own', async () => {
  const { client, server: own, close } = await createTestServer(new Changing());
  const { told, heard } = listening(client);
  await client.subscribeResource({ uri: 'changing://mine' });
  changeAll(own);
  expect(await untilAll(heard, told)).toEqual(all);
  await close();
});

@McpServer({ name: 'changing' })
class Second {
  @McpResource({ uri: 'changing://{name}' })
  again(): string {
    return '';
  }
}

@McpServer({ name: 'changing' })
class Third {
  @McpPrompt({ description: 'Greets again.', name: 'greet' })
  greetAgain(): string {
    return '';
  }
}

verifies('tools.decorators-found', 'two resources of a URI, two prompts of a name: both places are named', async () => {
  const start = (other: object) => () => createMcpServer([new Changing(), other], { logger: silentLogger });
  expect(start(new Second())).toThrow(
    "Two resources of MCP server 'changing' have the URI 'changing://{name}': Changing.read and Second.again",
  );
  expect(start(new Third())).toThrow(
    "Two prompts of MCP server 'changing' are named 'greet': Changing.greet and Third.greetAgain",
  );
});

@McpServer({ name: 'bare' })
class Bare {
  @McpTool({ description: 'Works.', input: z.object({}) })
  work(): string {
    return 'done';
  }
}

verifies('tools.decorators-resources', 'a server without them does not offer them', async () => {
  const { client, close } = await createTestServer(new Bare());
  expect(Object.keys(client.getServerCapabilities() ?? {}).sort()).toEqual(['logging', 'tools']);
  await close();
});
