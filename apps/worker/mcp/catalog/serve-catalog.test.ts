import { EventEmitter, on, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { z } from 'zod';
import { silentLogger } from '#libs/logging/logger.js';
import { createMcpServer } from '#libs/mcp-server/create-mcp-server.js';
import { PostgresCatalogStore } from '#libs/runs/catalog/postgres-catalog-store.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import { configuredServer } from '../../../../test/support/configured-server.js';
import { ProbeTools } from '../../../../test/support/probe-tools.js';
import { openServices, type Services } from '../../../../test/support/queue-path.js';
import { verifies } from '../../../../test/verifies.js';
import type { ConfiguredServer } from '../servers/configured-server.js';
import { InProcessConnection } from '../servers/in-process-connection.js';
import { ServerPool } from '../pool/pool.js';
import { CatalogPublisher } from './publish-catalog.js';
import { CatalogService } from './serve-catalog.js';

let services: Services;
beforeAll(async () => {
  services = await openServices();
});
afterAll(() => services?.close());

/** A server whose listings the test can hold, and whose requests it can await. */
function slowServer(given: Partial<ConfiguredServer> = {}) {
  const server = createMcpServer(new ProbeTools(), { logger: silentLogger });
  const events = new EventEmitter();
  const asked = once(events, 'asked');
  const answered = once(events, 'answer');
  const configured = configuredServer({
    builtin: false,
    isolation: 'remote',
    open: async () => {
      const connection = new InProcessConnection(server);
      const list = connection.listTools.bind(connection);
      connection.listTools = async () => {
        events.emit('asked');
        await answered;
        return list(new AbortController().signal);
      };
      return connection;
    },
    ...given,
  });
  return { configured, asked, answer: () => void events.emit('answer') };
}

async function openCatalog(...first: ConfiguredServer[]) {
  const limits = { maxBytes: 65_536, maxDepth: 32 };
  const configured = { servers: first, refused: [] };
  const store = new PostgresCatalogStore(services.database);
  const pool = new ServerPool(configured, silentLogger);
  const bounds = { maxBytes: 1, maxFiles: 1, maxDepth: 1 };
  const catalog = new CatalogService({
    configured,
    pool,
    workspaces: await Workspaces.open(`${services.config.data_dir}/workspaces`, bounds),
    publisher: new CatalogPublisher({
      store,
      channels: services.backing.channels,
      limits,
      logger: silentLogger,
    }),
    logger: silentLogger,
  });
  await catalog.start();
  return {
    catalog,
    replace: async (...servers: ConfiguredServer[]) => {
      pool.replace({ servers, refused: [] });
      await catalog.replace({ servers, refused: [] });
    },
    published: async () => {
      const servers = await store.servers();
      const tools = await Promise.all(servers.map(({ server }) => store.published(server)));
      return tools.flat().map(({ tool }) => tool);
    },
    close: async () => {
      await catalog.close();
      await pool.close();
    },
  };
}

verifies('tools.reload', 'what a server answers after it was removed does not come into the catalog', async () => {
  const slow = slowServer();
  const { catalog, replace, published, close } = await openCatalog(slow.configured);
  await slow.asked;
  await replace();
  slow.answer();
  await close();
  expect([await published(), catalog.states()]).toEqual([[], []]);
});

verifies('tools.reload', 'what a server answers by an older configuration does not either', async () => {
  const slow = slowServer();
  const next = slowServer({ configHash: 'second', tools: { include: ['echo'] } });
  next.answer();
  const { catalog, replace, published, close } = await openCatalog(slow.configured);
  await slow.asked;
  await replace(next.configured);
  await expect.poll(published, { timeout: 10_000 }).toEqual(['echo']);
  slow.answer();
  // It is written shortly before it is announced.
  await expect.poll(() => catalog.states()).toEqual([{ name: 'probe', state: 'ready' }]);
  await close();
  expect(await published()).toEqual(['echo']);
});

verifies(
  'tools.list-changed-heard',
  'a server that changes without end is listed meanwhile, seldom, once at a time',
  async () => {
    const server = createMcpServer(new ProbeTools(), { logger: silentLogger });
    const events = new EventEmitter();
    let [listings, atOnce, most] = [0, 0, 0];
    const configured = configuredServer({
      builtin: false,
      isolation: 'remote',
      concurrency: 4,
      changes: { cosmetic: 'allow', wording: 'allow', contract: 'allow', new: 'allow', removed: 'allow' },
      open: async () => {
        const connection = new InProcessConnection(server);
        const list = connection.listTools.bind(connection);
        connection.listTools = async (signal) => {
          events.emit('listed', (listings += 1));
          most = Math.max(most, (atOnce += 1));
          await delay(150);
          atOnce -= 1;
          return list(signal);
        };
        return connection;
      },
    });
    const add = (name: string) => {
      const options = { description: 'Nothing.', input: z.object({}) };
      server.register({ name, place: 'this test', options, handler: () => 'x' });
    };
    const reported = on(events, 'listed', { signal: AbortSignal.timeout(10_000) });
    const { published, close } = await openCatalog(configured);
    await reported.next();
    let added = 0;
    const storm = setInterval(() => add(`storm_${(added += 1)}`), 10);
    try {
      // At the start, and three times during the changes.
      for (let at = 0; at < 3; at += 1) await reported.next();
    } finally {
      clearInterval(storm);
    }
    add('last');
    await expect.poll(published, { timeout: 10_000 }).toContain('last');
    await close();
    expect(most).toBe(1);
    expect(listings).toBeLessThanOrEqual(6);
  },
);

verifies('tools.listed-in-turn', 'twenty servers that do not answer, and one that does', async () => {
  const asked = new Set<string>();
  const silent = Array.from({ length: 20 }, (_none, at): ConfiguredServer => {
    const name = `silent_${at}`;
    const open = (_user: unknown, signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) => {
        asked.add(name);
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
    return configuredServer({ name, builtin: false, isolation: 'remote', open });
  });
  const last = slowServer({ name: 'last', tools: { include: ['echo'] } });
  last.answer();
  const { published, close } = await openCatalog(...silent, last.configured);
  try {
    expect(asked.size).toBe(8);
    await expect.poll(published, { timeout: 20_000 }).toEqual(['echo']);
    expect(asked.size).toBe(20);
  } finally {
    await close();
  }
});
