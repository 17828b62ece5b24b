import { afterAll, beforeAll, expect } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import type { PublishedTool, ToolWrite } from '#libs/runs/catalog/catalog-store.js';
import { PostgresCatalogStore } from '#libs/runs/catalog/postgres-catalog-store.js';
import { openServices, type Services } from '../../../test/support/queue-path.js';
import { verifies } from '../../../test/verifies.js';
import { MemoryToolCatalog } from './memory-tool-catalog.js';

let services: Services;
beforeAll(async () => {
  services = await openServices();
});
afterAll(() => services?.close());

/** Writes down whose tools were read. */
class WatchedStore extends PostgresCatalogStore {
  readonly reads: string[] = [];

  override published(server: string): Promise<PublishedTool[]> {
    this.reads.push(server);
    return super.published(server);
  }
}

const tool = (server: string, name: string): PublishedTool => ({
  server,
  tool: name,
  description: '',
  inputSchema: { type: 'object' },
  annotations: {},
  definitionHash: name,
  safe: false,
  readOnly: false,
  timeoutMs: 1,
  maxTimeoutMs: 1,
});

verifies('tools.catalog-read-once', 'many tools, of which nothing changes, then those of one server', async () => {
  const store = new WatchedStore(services.database);
  const write = async (server: string, order: number, names: string[]) => {
    await store.place(server, order);
    const writes = names.map((name, position): ToolWrite => ({
      tool: name,
      position,
      listed: true,
      approved: { definition: { name }, hash: name },
      published: { tool: tool(server, name), hash: name },
      held: null,
    }));
    await store.write(server, writes);
    await store.settle(server, true);
  };
  await write(
    'large',
    0,
    Array.from({ length: 3_000 }, (_, at) => `tool_${at}`),
  );
  await write('small', 1, ['one', 'tool_7']);
  const catalog = new MemoryToolCatalog(store, services.backing.channels, silentLogger);
  let changes = 0;
  catalog.onChange(() => (changes += 1));
  try {
    await catalog.start();
    expect(store.reads).toEqual(['large', 'small']);
    expect(catalog.list()).toHaveLength(3_002);
    const { version } = catalog;
    for (let poll = 0; poll < 3; poll += 1) await catalog.refresh();
    expect([store.reads.length, changes, catalog.version]).toEqual([2, 1, version]);
    await store.markUnavailable('large');
    await catalog.refresh();
    expect([store.reads.length, catalog.find('tool_7')?.available]).toEqual([2, false]);
    const before = catalog.find('tool_8');
    await write('small', 1, ['two']);
    await catalog.refresh();
    // What was counted of it is still known.
    expect(catalog.find('tool_8')).toBe(before);
    expect(store.reads).toEqual(['large', 'small', 'small']);
    expect([catalog.find('two')?.server, catalog.find('small__tool_7')?.server]).toEqual(['small', 'small']);
    await store.retain(['large']);
    await catalog.refresh();
    expect([store.reads.length, catalog.find('one'), catalog.hasServer('small')]).toEqual([3, undefined, false]);
  } finally {
    await catalog.close();
  }
});
