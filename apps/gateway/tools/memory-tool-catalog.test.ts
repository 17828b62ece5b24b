import { afterAll, beforeAll, expect, vi } from 'vitest';
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
  looks = 0;

  override servers() {
    this.looks += 1;
    return super.servers();
  }

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

async function write(store: PostgresCatalogStore, server: string, order: number, names: string[]): Promise<void> {
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
}

verifies('tools.catalog-read-once', 'many tools, of which nothing changes, then those of one server', async () => {
  const store = new WatchedStore(services.database);
  await write(
    store,
    'large',
    0,
    Array.from({ length: 3_000 }, (_, at) => `tool_${at}`),
  );
  await write(store, 'small', 1, ['one', 'tool_7']);
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
    await write(store, 'small', 1, ['two']);
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

verifies('tools.catalog-read-once', 'announcements that follow a change closely are read together', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  const store = new WatchedStore(services.database);
  const catalog = new MemoryToolCatalog(store, services.backing.channels, silentLogger);
  try {
    await write(store, 'first', 0, ['first_tool']);
    await catalog.refresh();
    expect(store.looks).toBe(1);
    await write(store, 'second', 1, ['second_tool']);
    const announced = catalog.refresh();
    await write(store, 'third', 2, ['third_tool']);
    expect(catalog.refresh()).toBe(announced);
    expect([store.looks, catalog.find('second_tool')]).toEqual([1, undefined]);
    vi.advanceTimersByTime(100);
    await announced;
    expect([store.looks, catalog.find('third_tool')?.server]).toEqual([2, 'third']);
    // Later ones are read at once.
    vi.advanceTimersByTime(100);
    await write(store, 'third', 2, ['fourth_tool']);
    await catalog.refresh();
    expect([store.looks, catalog.find('fourth_tool')?.server]).toEqual([3, 'third']);
  } finally {
    await catalog.close();
    vi.useRealTimers();
  }
});

verifies('tools.catalog-read-once', 'a close does not wait for more announcements', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  const store = new WatchedStore(services.database);
  const catalog = new MemoryToolCatalog(store, services.backing.channels, silentLogger);
  try {
    await catalog.refresh();
    const announced = catalog.refresh();
    await catalog.close();
    await announced;
    expect(store.looks).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});
