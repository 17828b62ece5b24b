// What a heartbeat reports of a tool server beside its state, for operators.
import type { ServerReport } from '#libs/runs/processes/process-registry.js';
import type { ConfiguredServer } from '../servers/configured-server.js';
import type { ServerVitals } from '../servers/server-vitals.js';
import type { PoolEvents } from './pool-events.js';
import type { InstanceCount } from './pool-instance.js';

export function reportServer(
  server: ConfiguredServer,
  census: readonly InstanceCount[],
  vitals: ServerVitals,
): Omit<ServerReport, 'name' | 'state'> {
  const { name, builtin, isolation, paths, confinement } = server;
  const counted = census.filter((each) => each.server === name && each.count > 0);
  return {
    isolation,
    ...(paths === undefined ? {} : { paths: { read: [...paths.read], write: [...paths.write] } }),
    ...(confinement === undefined ? {} : { forbids: [...confinement.forbids], network: confinement.network }),
    ...(builtin ? {} : vitals.of(name)),
    ...(builtin ? {} : { instances: Object.fromEntries(counted.map(({ state, count }) => [state, count])) }),
  };
}

/** The events, with the ends of instances noted on the way. */
export const noteEnds = (events: PoolEvents, vitals: ServerVitals): PoolEvents => ({
  ...events,
  onClosed: (server, reason) => {
    if (reason === 'ended') vitals.ended(server);
    events.onClosed(server, reason);
  },
});
