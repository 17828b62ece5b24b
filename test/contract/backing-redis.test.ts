import { noRedis } from '../support/services/redis-server.js';
import { startRedis } from '../support/services/start-redis.js';
import { backingConformance } from './backing-conformance.js';
import { type ConformanceStore, keptIn } from './conformance-store.js';
import { openFaultProxy } from './fault-proxy.js';

const makeStore = async (): Promise<ConformanceStore> => {
  const redis = await startRedis();
  const proxy = await openFaultProxy({ host: '127.0.0.1', port: redis.port });
  return {
    options: { databaseUrl: 'postgres://unused', redisUrl: `redis://127.0.0.1:${proxy.port}` },
    proxy,
    async connections(applicationName) {
      const list = (await redis.client.client('LIST')) as string;
      return list.split('\n').filter((line) => line.includes(` name=${applicationName} `)).length;
    },
    ...keptIn(redis.client),
    async drop() {
      await proxy.close();
      await redis.stop();
    },
  };
};

backingConformance('Redis', makeStore, { missing: noRedis });
