import { afterAll, beforeAll, expect } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import { PostgresProcessRegistry } from '#libs/runs/processes/postgres-process-registry.js';
import { openServices, type Services } from '../../../test/support/queue-path.js';
import { verifies } from '../../../test/verifies.js';
import { ToolServers } from './tool-servers.js';

let services: Services;
const registries: PostgresProcessRegistry[] = [];
beforeAll(async () => {
  services = await openServices();
});
afterAll(async () => {
  for (const registry of registries) await registry.close();
  await services?.close();
});

async function worker(id: string, servers: object[] | number): Promise<PostgresProcessRegistry> {
  const registry = new PostgresProcessRegistry(services.database, { logger: silentLogger, intervalMs: 50 });
  registries.push(registry);
  await registry.register({ id, kind: 'worker', details: { servers } as never });
  return registry;
}

verifies(
  'tools.servers-reported',
  'the worst of what workers say; what only starts in one, and what none has',
  async () => {
    const refused = { name: 'files', state: 'refused', reason: 'not installed' };
    const first = await worker('worker-a', [
      { name: 'files', state: 'ready', isolation: 'process' },
      { name: 'web', state: 'ready', isolation: 'remote' },
    ]);
    await worker('worker-b', [refused, { name: 'web', state: 'starting', isolation: 'remote' }]);
    // A version that reported only the number of its servers.
    await worker('worker-c', 2);
    const readPage = { name: 'read_page', description: '读取网页', inputSchema: { type: 'object' } };
    const known = [
      { server: 'web', available: true, ...readPage },
      { server: 'gone', available: false, ...readPage },
    ];
    const list = (server?: string) => known.filter((tool) => server === undefined || tool.server === server) as never[];
    const servers = new ToolServers(first, { list });
    expect(await servers.states()).toEqual({ files: 'refused', gone: 'unavailable', web: 'ready' });
    const [files, gone, web] = await servers.list();
    expect(files).toEqual({
      ...refused,
      tools: 0,
      tokens: 0,
      workers: [
        { id: 'worker-a', state: 'ready', isolation: 'process' },
        { id: 'worker-b', state: 'refused', reason: 'not installed' },
      ],
    });
    expect(gone).toEqual({
      name: 'gone',
      state: 'unavailable',
      reason: 'no worker has this server',
      tools: 1,
      tokens: 21,
      workers: [],
    });
    expect(web).toMatchObject({ state: 'ready', isolation: 'remote', tools: 1, tokens: 21 });
    // What is told is asked for at each heartbeat.
    first.describe('worker-a', () => ({ servers: [{ name: 'web', state: 'unavailable', reason: 'away' }] }));
    await expect.poll(() => servers.states()).toMatchObject({ web: 'unavailable' });
  },
);
