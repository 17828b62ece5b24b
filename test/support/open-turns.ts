// The turns of a gateway in a test, on real services; the model is the offline one.
import type { Backing } from '#libs/backing/backing.js';
import type { Config } from '#libs/config/schema.js';
import { silentLogger } from '#libs/logging/logger.js';
import type { Database } from '#libs/postgres/open-database.js';
import { PostgresEventLog } from '#libs/runs/postgres-event-log.js';
import { PostgresRunStore } from '#libs/runs/postgres-run-store.js';
import { WriteLater } from '#libs/runs/write-later.js';
import { RunTasks } from '#libs/runs/listing/run-tasks.js';
import { reaperTimes } from '#libs/runs/processes/reaper.js';
import { TaskCalls } from '../../apps/gateway/mcp/tasks/task-calls.js';
import { OfflineProvider } from '../../apps/gateway/models/offline/offline-provider.js';
import { ModelCallMeasure } from '../../apps/gateway/models/routing/measure-model-calls.js';
import { createModelRouter } from '../../apps/gateway/models/routing/model-router.js';
import { ActiveRuns } from '../../apps/gateway/turn/runs/active-runs.js';
import { RunAnnouncements } from '../../apps/gateway/turn/runs/run-announcements.js';
import { Turns, type TurnsPorts } from '../../apps/gateway/turn/turns.js';

type MadeHere = 'models' | 'budgets' | 'runs' | 'log' | 'channels' | 'activeRuns' | 'announce' | 'endLater' | 'logger';

interface Services {
  config: Config;
  backing: Backing;
  database: Database;
}

export function openTurns(id: string, { config, backing, database }: Services, ports: Omit<TurnsPorts, MadeHere>) {
  const measure = new ModelCallMeasure({
    metrics: ports.measuring.metrics,
    clocks: ports.measuring.clocks,
    logger: silentLogger,
  });
  const models = createModelRouter(config.models, { logger: silentLogger, offline: new OfflineProvider(), measure });
  const runs = new PostgresRunStore(database);
  const later = new WriteLater(() => undefined);
  const announcements = new RunAnnouncements(backing.channels);
  const ofRuns = {
    runs,
    log: new PostgresEventLog(database),
    channels: backing.channels,
    activeRuns: new ActiveRuns(),
  };
  const turns = new Turns(
    {
      ...ports,
      ...ofRuns,
      models,
      budgets: { spentBy: () => undefined, knownSpent: () => undefined },
      announce: (runId) => announcements.announce(runId),
      endLater: (runId, end) => void later.add(runId, () => runs.end(runId, id, end), 60_000),
      logger: silentLogger,
    },
    config,
    id,
  );
  const tasks = new TaskCalls({
    ...ports,
    ...ofRuns,
    turns,
    tasks: new RunTasks(database),
    keptMs: reaperTimes(config).runTtlMs,
    logger: silentLogger,
  });
  const close = async () => {
    announcements.close();
    await Promise.all([models.close(), later.close()]);
  };
  return { turns, tasks, close };
}
