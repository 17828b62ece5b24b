// The gateway without its HTTP server: opens, connects, starts and stops its parts.
import { randomBytes } from 'node:crypto';
import { publicAddress } from '#libs/config/addresses/public-address.js';
import { openConnections } from './connections/open-connections.js';
import { openIssuerTokens } from './connections/open-issuer-tokens.js';
import { openUsage } from './govern/open-usage.js';
import { CallTokenKeys } from '#libs/access/call-token-keys.js';
import { CallTokenRing } from '#libs/access/call-tokens.js';
import { IdentityKeys } from '#libs/access/identity/identity-keys.js';
import { KeyRing } from '#libs/access/key-ring.js';
import { KeyStore } from '#libs/access/key-store.js';
import { WaitAnnouncements } from '#libs/waits/wait-announcements.js';
import { WaitStore } from '#libs/waits/wait-store.js';
import { AuditNotes } from '#libs/audit/audit-notes.js';
import { readFaults } from '#libs/config/fault-points.js';
import type { Config } from '#libs/config/schema.js';
import { openVault } from '#libs/connections/vault.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import { TurnClocks } from '#libs/metrics/turn-clocks.js';
import { PostgresSessionLeases } from '#libs/runs/sessions/session-leases.js';
import { listenForDeleted, announceDeleted } from '#libs/runs/sessions/deleted-sessions.js';
import { PostgresEventLog } from '#libs/runs/postgres-event-log.js';
import { PostgresJournal } from '#libs/runs/postgres-journal.js';
import { PostgresProcessRegistry } from '#libs/runs/processes/postgres-process-registry.js';
import { PostgresRunStore } from '#libs/runs/postgres-run-store.js';
import { PostgresSessionStore } from '#libs/runs/sessions/postgres-session-store.js';
import { PostgresToolChanges } from '#libs/runs/catalog/postgres-tool-changes.js';
import { publishReapedCall } from '#libs/runs/processes/publish-reaped-call.js';
import type { RunEnd } from '#libs/runs/run-store.js';
import { Reaper, reaperTimes } from '#libs/runs/processes/reaper.js';
import { StoreWrites } from '#libs/runs/store-writes.js';
import { WriteLater } from '#libs/runs/write-later.js';
import type { Workspaces } from '#libs/workspace/workspaces.js';
import { Turns } from './turn/turns.js';
import { openAuditKeeper, openStores } from './open-stores.js';
import { advanceDetached, ownerOf, type AdvanceDetachedPorts } from './turn/runs/advance-detached.js';
import { UnownedRuns } from './turn/runs/unowned-runs.js';
import { Replays } from './turn/replay/replays.js';
import { RunAnnouncements } from './turn/runs/run-announcements.js';
import { ActiveRuns } from './turn/runs/active-runs.js';
import { listenForCancels } from './turn/runs/listen-for-cancels.js';
import { faultyPorts } from './inject-faults.js';
import { createModelObservers, ModelCallMeasure } from './models/routing/measure-model-calls.js';
import { createModelRouter } from './models/routing/model-router.js';
import { Sampling } from './sampling/sampling.js';
import { OfflineProvider } from './models/offline/offline-provider.js';
import { ApprovalWebhook } from './govern/approval-webhook.js';
import { ApprovalRoom } from './govern/approval-room.js';
import { signInsAt } from './govern/sign-in-addresses.js';
import { Waits } from './govern/waits.js';
import { OfferRequests } from './mcp/offers/offer-requests.js';
import { ResourceFollowers } from './mcp/offers/resource-followers.js';
import { DirectCalls } from './turn/dispatch/call-tool.js';
import { KeyedToolCalls } from './turn/dispatch/keyed-tool-calls.js';
import { argumentBounds, CompiledArgumentValidator } from './tools/compiled-argument-validator.js';
import { LateCancels } from './turn/dispatch/late-cancels.js';
import { FirstCatalog } from './tools/first-catalog.js';
import { openCatalog } from './tools/open-catalog.js';
import { ToolPolicy } from './govern/tool-policy.js';
import { dispatchLimits, QueuedToolRunner } from './turn/dispatch/queued-tool-runner.js';
import { openToolChanges } from './tools/tool-change-decisions.js';
import { ToolServers } from './tools/tool-servers.js';

export type Gateway = Awaited<ReturnType<typeof openGateway>>;

/** @throws AppError store_unavailable if a service cannot be reached */
export async function openGateway(config: Config, logger: Logger, metrics: Metrics, workspaces: Workspaces) {
  const id = `gateway-${randomBytes(6).toString('hex')}`;
  // Refuses a configuration without its key before anything is open.
  const vault = openVault(config);
  const { database, backing: opened } = await openStores(config, id, logger);
  const faulty = faultyPorts(readFaults());
  const backing = faulty.backing(opened);

  const audit = { audit: config.audit.enabled };
  const notes = new AuditNotes(database, audit);
  const { toolsets, catalog, sets, closeCatalog } = openCatalog(config, { database, backing, logger });
  const keys = new KeyStore(database, { ...audit, toolsets });
  const { mode, jwt } = config.auth;
  const keyMode = jwt !== undefined && mode === 'auto' ? 'keys' : mode;
  const keyRing = new KeyRing({ store: keys, mode: keyMode, channels: backing.channels, logger });
  const tokenKeys = new CallTokenKeys(database);
  const callTokens = new CallTokenRing({ keys: tokenKeys, ring: keyRing, hasIssuer: jwt !== undefined });
  const writes = new StoreWrites(database, audit);
  const idempotencyTtlMs = config.runs.idempotency_ttl_ms;
  const sessions = new PostgresSessionStore(database, {
    idleTtlMs: config.workspaces.idle_ttl_ms,
    writes,
    onDeleted: announceDeleted({ channels: backing.channels, leases: new PostgresSessionLeases(database), logger }),
  });
  const usage = openUsage({ gatewayId: id, database, writes, counters: backing.counters, config, metrics, logger });
  const [{ accounts, budgets }, { channels }] = [usage, backing];
  const runs = faulty.runs(new PostgresRunStore(database, { idempotencyTtlMs, writes, sessions, usage: usage.meter }));
  const log = new PostgresEventLog(database, writes);
  const journal = new PostgresJournal(database, writes, sessions);
  const registry = new PostgresProcessRegistry(database, { logger });

  const clocks = new TurnClocks();
  const measuring = { metrics, clocks, logger, accounts, notes };
  const offline = new OfflineProvider();
  const observers = createModelObservers(metrics);
  const measure = new ModelCallMeasure(measuring);
  const models = faulty.models(createModelRouter(config.models, { logger, offline, measure, ...observers }));
  const policy = new ToolPolicy(config, sets, (effect) => metrics.policyDecisions.inc({ effect }));
  const { decide, deniedTool, catalogOf, mayUse } = policy;
  const reached = { database, vault, catalog, catalogOf, channels, metrics, logger };
  const issuerTokens = await openIssuerTokens(config, { ...reached, toolsets, waits: () => approvals });
  const lateCancels = new LateCancels({ journal, onDropped: () => metrics.toolCancelsDropped.inc() });
  const waitStore = new WaitStore(database, { ...audit, signIns: signInsAt(publicAddress(config.server)) });
  const waitAnnouncements = new WaitAnnouncements({ store: waitStore, channels: backing.channels, logger });
  const { webhook: hook, expires_ms: expiresMs } = config.approvals;
  const approval = { expiresMs, notify: hook !== undefined };
  const room = { settings: approval, limit: config.limits.waiting_approvals };
  const approvalRoom = new ApprovalRoom({ store: waitStore, ...room, metrics });
  const sampling = new Sampling({
    gatewayId: id,
    store: waitStore,
    announcements: waitAnnouncements,
    models,
    budgets,
    onAnswered: (outcome) => metrics.samplings.inc({ outcome }),
    logger,
  });
  const runner = new QueuedToolRunner({
    gatewayId: id,
    backing,
    journal,
    sessions,
    registry,
    lateCancels,
    waits: waitStore,
    exchanges: issuerTokens.exchanges,
    approval,
    sampling,
    limits: dispatchLimits(config),
    measuring: { ...measuring, logContent: config.log.content },
    onCacheLookup: (outcome) => metrics.toolCache.inc({ outcome }),
    fileIdentity: async ({ principal, sessionId }, path) => {
      const session = await sessions.get(principal, sessionId);
      return session && (await workspaces.workspace(session).stat(path)).etag;
    },
    logger,
  });
  const validator = new CompiledArgumentValidator(argumentBounds(config), logger);
  const firstCatalog = new FirstCatalog(catalog, runner);

  const onSent = (outcome: string) => metrics.approvalNotices.inc({ outcome });
  const webhook = hook && new ApprovalWebhook({ ...hook, store: waitStore, onSent, logger });
  const approvals = new Waits({
    store: waitStore,
    announcements: waitAnnouncements,
    catalog,
    validator,
    decide,
    webhook,
    clocks,
    onEnded: (state) => metrics.approvals.inc({ state }),
    onDecided: () => unownedRuns.lookSoon(),
    hasSignIns: vault !== undefined,
    logger,
  });
  const connections = await openConnections(config, {
    ...reached,
    around: faulty.connections,
    waitStore,
    waits: () => approvals,
  });

  const activeRuns = new ActiveRuns();
  const later = new WriteLater((runId, error) => logger.error({ runId, error }, 'the end of a run was not stored'));
  const here = { gatewayId: id, runs, later, logger };
  const detachedPorts: AdvanceDetachedPorts = {
    ...here,
    runner,
    callerOf: ownerOf(keys, keyRing),
    advance: (run, context) => turns.advance(run, context),
    turnMs: config.limits.turn_ms,
  };
  const unownedRuns = new UnownedRuns({ ...here, activeRuns, advance: (run) => advanceDetached(run, detachedPorts) });
  const announcements = new RunAnnouncements(backing.channels);
  const ofTurns = {
    models,
    validator,
    budgets,
    runs,
    log,
    activeRuns,
    announce: (runId: string) => announcements.announce(runId),
    endLater: (runId: string, end: RunEnd) => unownedRuns.endLater(runId, end),
    measuring,
    notes,
    logger,
  };
  const asking = { approvals, approvalRoom, waitStore, questions: sampling, journal };
  const deciding = { catalogOf, decide, deniedTool };
  const turns: Turns = new Turns(
    { ...ofTurns, ...asking, ...deciding, runner, channels: backing.channels },
    config,
    id,
  );
  const replays = new Replays({ ...ofTurns, catalog: sets, policy, keys }, config, id);
  const toolCalls = new DirectCalls({
    catalog,
    validator,
    decide,
    approvalRoom,
    approvals: { store: waitStore, questions: sampling, waits: approvals },
    deniedTool,
    journal,
    notes,
    runner,
    lateCancels,
  });
  const ofRequests = { decide, mayUse, journal, notes, runner, lateCancels };
  const offerRequests = new OfferRequests({ ...ofRequests, calls: toolCalls, waits: waitStore });
  const followers = new ResourceFollowers({ channels, offerRequests, logger });
  const keyedToolCalls = new KeyedToolCalls({
    calls: toolCalls,
    turns,
    catalog,
    approvals: waitStore,
    decisions: approvals,
    journal,
    questions: sampling,
  });
  const { toolChanges, toolChangeDecisions } = openToolChanges(new PostgresToolChanges(database, audit), reached);
  const reaping = { publishOutcome: publishReapedCall(channels), ...reaperTimes(config), ...audit };
  const reaper = new Reaper({ database, queue: backing.queue, logger, ...reaping });
  const auditKeeper = config.audit.enabled ? openAuditKeeper(config, database, id, logger) : undefined;
  const stopListening: (() => Promise<void>)[] = [];

  return {
    id,
    database,
    backing,
    runs,
    log,
    notes,
    keys,
    keyRing,
    issuerTokens,
    callTokens,
    identityKeys: new IdentityKeys(database),
    sessions,
    registry,
    places: runner.places,
    models,
    catalog,
    sets,
    toolsets,
    firstCatalog,
    turns,
    replays,
    toolCalls,
    offerRequests,
    followers,
    keyedToolCalls,
    toolChanges,
    toolChangeDecisions,
    connections,
    policy,
    usage,
    toolServers: new ToolServers(registry, catalog),
    activeRuns,
    ...asking,
    validator,
    auditKeeper,
    async start(): Promise<void> {
      const mark = await workspaces.mark().catch(() => null);
      await registry.register({ id, kind: 'gateway', details: { workspaces: mark } });
      await Promise.all([runner.start(), catalog.start(), approvals.start(), followers.start()]);
      stopListening.push(await listenForCancels(backing.channels, id, activeRuns));
      stopListening.push(await listenForDeleted(backing.channels, (session) => sessions.forget(session)));
      reaper.start();
      auditKeeper?.start();
      unownedRuns.start();
      connections.start();
    },
    /** From now on other gateways continue interrupted runs. */
    takeNoMore: () => unownedRuns.takeNoMore(),
    /** Call after all turns have ended. */
    async close(): Promise<void> {
      firstCatalog.close();
      activeRuns.stopAll();
      await Promise.all([unownedRuns.finishAdvancing(), replays.close()]);
      await activeRuns.written();
      announcements.close();
      for (const stop of stopListening) await stop();
      await Promise.allSettled([
        followers.close(),
        approvals.close(),
        unownedRuns.close(),
        closeCatalog(),
        reaper.close(),
        runner.close(),
        issuerTokens.close(),
        connections.close(),
        models.close(),
      ]);
      // After the runner, which uses both until it is closed.
      await Promise.all([lateCancels.close(), later.close()]);
      await Promise.all([keyRing.close(), usage.close()]);
      await auditKeeper?.close();
      try {
        await registry.close();
      } finally {
        await backing.close();
        await database.close();
      }
    },
  };
}
