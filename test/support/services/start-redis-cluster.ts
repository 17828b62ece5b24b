// A Redis Cluster of three servers for a test, each reached through a network of its own that the test opens. It ends with
// the test process.
import { eventually } from '../eventually.js';
import { freePort } from './free-port.js';
import { startRedis, type TestRedis } from './start-redis.js';

export interface TestCluster {
  servers: TestRedis[];
  /** The one that has a key, asked past the network. */
  serverOf(key: string): Promise<TestRedis['client']>;
  stop(): Promise<void>;
}

export interface ClusterNode {
  /** Where the server listens. */
  port: number;
  /** Where clients are told to find it. */
  announcedPort: number;
}

const slots = 16_384;

export async function startRedisCluster(nodes: readonly ClusterNode[]): Promise<TestCluster> {
  const buses = await Promise.all(nodes.map(() => freePort()));
  const servers = await Promise.all(
    nodes.map(({ port, announcedPort }, index) =>
      startRedis({
        port,
        settings: {
          'cluster-enabled': 'yes',
          'cluster-node-timeout': '2000',
          'cluster-port': String(buses[index]),
          'cluster-announce-ip': '127.0.0.1',
          'cluster-announce-port': String(announcedPort),
        },
      }),
    ),
  );
  const stop = async () => void (await Promise.all(servers.map((server) => server.stop())));
  try {
    for (const [index, { client }] of servers.entries()) {
      const first = Math.ceil((slots * index) / servers.length);
      const last = Math.ceil((slots * (index + 1)) / servers.length) - 1;
      await client.call('CLUSTER', 'ADDSLOTSRANGE', first, last);
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    }
    for (const [index, { port }] of nodes.entries()) {
      if (index > 0) await servers[0]!.client.call('CLUSTER', 'MEET', '127.0.0.1', port, buses[index]!);
    }
    await eventually(async () => {
      const states = await Promise.all(servers.map(({ client }) => client.call('CLUSTER', 'INFO') as Promise<string>));
      return states.every(
        (text) => text.includes('cluster_state:ok') && text.includes(`cluster_known_nodes:${nodes.length}`),
      );
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    servers,
    async serverOf(key) {
      const slot = await servers[0]!.client.cluster('KEYSLOT', key);
      return servers[Math.floor((slot * servers.length) / slots)]!.client;
    },
    stop,
  };
}
