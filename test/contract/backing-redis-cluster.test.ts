import { afterAll, beforeAll } from 'vitest';
import { noRedis } from '../support/services/redis-server.js';
import { freePort } from '../support/services/free-port.js';
import { startRedisCluster, type TestCluster } from '../support/services/start-redis-cluster.js';
import { backingConformance } from './backing-conformance.js';
import { type ConformanceStore, keptIn } from './conformance-store.js';
import { type FaultProxy, openFaultProxy } from './fault-proxy.js';

let cluster: TestCluster | undefined;
let proxies: FaultProxy[] = [];

beforeAll(async () => {
  if (noRedis !== undefined) return;
  const ports = await Promise.all([1, 2, 3].map(() => freePort()));
  proxies = await Promise.all(ports.map((port) => openFaultProxy({ host: '127.0.0.1', port })));
  cluster = await startRedisCluster(ports.map((port, index) => ({ port, announcedPort: proxies[index]!.port })));
});
afterAll(async () => {
  await Promise.all(proxies.map((proxy) => proxy.close()));
  await cluster?.stop();
});

const every = (act: (proxy: FaultProxy) => void) => () => proxies.forEach(act);

/** One cluster for all, emptied each time: starting one takes a second or two. */
const makeStore = async (): Promise<ConformanceStore> => {
  const servers = cluster!.servers;
  await Promise.all(servers.map(({ client }) => client.flushall()));
  return {
    options: {
      databaseUrl: 'postgres://unused',
      redisUrl: `redis+cluster://${proxies.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    },
    proxy: {
      port: proxies[0]!.port,
      get asked() {
        return proxies.reduce((sum, each) => sum + each.asked, 0);
      },
      silence: every((proxy) => proxy.silence()),
      freeze: every((proxy) => proxy.freeze()),
      cut: every((proxy) => proxy.cut()),
      refuse: every((proxy) => proxy.refuse()),
      restore: every((proxy) => proxy.restore()),
      close: async () => undefined,
    },
    async connections(applicationName) {
      const lists = await Promise.all(servers.map(({ client }) => client.client('LIST') as Promise<string>));
      const lines = lists.flatMap((list) => list.split('\n'));
      return lines.filter((line) => line.includes(`name=${applicationName}`)).length;
    },
    ...keptIn(await cluster!.serverOf('{signalbox}')),
    async drop() {},
  };
};

backingConformance('Redis Cluster', makeStore, { missing: noRedis, slowFaults: false });
