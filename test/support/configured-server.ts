// The configuration of a tool server as the worker reads it, so that tests only state what differs.
import type { ConfiguredServer } from '../../apps/worker/mcp/servers/configured-server.js';

export function configuredServer(given: Pick<ConfiguredServer, 'open'> & Partial<ConfiguredServer>): ConfiguredServer {
  return {
    name: 'probe',
    order: 0,
    configHash: 'hash',
    builtin: true,
    trusted: true,
    actsForCaller: false,
    isolation: 'builtin',
    scope: 'shared',
    concurrency: 2,
    maxInstances: 2,
    idleTtlMs: 60_000,
    startTimeoutMs: 1_000,
    timeoutMs: 1_000,
    maxTimeoutMs: 1_000,
    tools: {},
    forwardHeaders: [],
    changes: { cosmetic: 'allow', wording: 'hold', contract: 'hold', new: 'hold', removed: 'allow' },
    ...given,
  };
}
