// A server that lists its tools to nobody who has not signed in, from the start of a worker until somebody has, as another process tells.
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { announceConnection, listenForConnections } from '#libs/connections/connection-announcements.js';
import { silentLogger } from '#libs/logging/logger.js';
import { PostgresCatalogStore } from '#libs/runs/catalog/postgres-catalog-store.js';
import { openConnectedWorld, type ConnectedWorld } from '../../../../test/support/connected-world.js';
import { openServices, type Services } from '../../../../test/support/queue-path.js';
import { openToolServers } from '../../../../test/support/tool-servers.js';
import { verifies } from '../../../../test/verifies.js';
import { CatalogPublisher } from './publish-catalog.js';
import { CatalogService } from './serve-catalog.js';

let services: Services;
let world: ConnectedWorld;
beforeAll(async () => {
  services = await openServices();
  world = await openConnectedWorld(services.url);
});
afterAll(async () => {
  await world?.close();
  await services?.close();
});

verifies(
  'connections.listed',
  'the server waits for a sign-in, and is listed when somebody has connected',
  async () => {
    const here = world.open();
    const configured = { protected: { url: world.issuer.mcpUrl, auth: { kind: 'oauth' } } };
    const { store, tokens } = here;
    const servers = await openToolServers(configured, { connections: { store, tokens } });
    const channels = services.backing.channels;
    const catalogStore = new PostgresCatalogStore(services.database);
    const limits = { maxBytes: 65_536, maxDepth: 32 };
    const catalog = new CatalogService({
      configured: servers.configured,
      pool: servers.pool,
      workspaces: servers.workspaces,
      publisher: new CatalogPublisher({ store: catalogStore, channels, limits, logger: silentLogger }),
      logger: silentLogger,
    });
    const stopListening = await listenForConnections(channels, (key) => catalog.reconnect(key));
    const state = () => catalog.states().find(({ name }) => name === 'protected');
    try {
      await catalog.start();
      await vi.waitFor(() => expect(state()).toMatchObject({ state: 'needs_sign_in' }), 10_000);
      await here.connect('alice');
      await announceConnection({ principal: 'alice', server: 'protected' }, { channels, logger: silentLogger });
      await vi.waitFor(() => expect(state()).toMatchObject({ state: 'ready' }), 10_000);
      const published = await catalogStore.published('protected');
      expect(published.map(({ tool }) => tool).toSorted()).toEqual(['whoami', 'write']);
    } finally {
      await stopListening();
      await catalog.close();
      await servers.close();
    }
  },
);
