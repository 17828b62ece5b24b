// Fills the gauges that are looked up at a scrape. A source that does not answer in time leaves its gauge out: a missing
// value is honest, an old one is not. A scrape never waits longer than the deadline.
import { once } from 'node:events';
import type { Gauge } from 'prom-client';
import type { QueueCounts } from '#libs/backing/job-queue.js';
import type { Metrics } from './metrics.js';

/** Undefined where it is not known. */
type Asked<T> = (signal: AbortSignal) => Promise<T | undefined>;

/** Sources asked at every scrape; a process leaves out what it does not know. */
export interface GaugeSources {
  queue?: Asked<QueueCounts>;
  sessions?: Asked<number>;
  workspaceBytes?: Asked<number>;
  workspaceFreeBytes?: Asked<number>;
  /** How many servers are in each state (`ready`, `down`, `refused`, …). */
  mcpServers?: Asked<Record<string, number>>;
  /** Every state of every server, zero included. */
  mcpInstances?: Asked<{ server: string; state: string; count: number }[]>;
  /** Outcomes on disk that the store could not take yet. */
  auditSpoolRows?: Asked<number>;
  mcpProcesses?: Asked<number>;
  /** The level of each command server, 0 to 3. */
  isolationLevels?: Asked<Record<string, number>>;
  serversBelowIsolation?: Asked<number>;
  toolChangesHeld?: Asked<number>;
  approvals?: Asked<{ count: number; oldestAgeMs: number }>;
  /** Budgets of the callers that have one. */
  budgets?: Asked<{ largestShare: number; exhausted: number }>;
  auditBroken?: Asked<boolean>;
  /** Epoch ms; 0: never. */
  issuerKeysReadAt?: Asked<number>;
}

const deadlineMs = 500;

interface Sample {
  gauge: Gauge;
  value: number;
  labels?: Record<string, string>;
}

export async function collectGauges(metrics: Metrics, sources: GaugeSources): Promise<void> {
  /** Removes the values of an earlier scrape. */
  const fill = async <T>(ask: Asked<T> | undefined, gauges: readonly Gauge[], read: (value: T) => Sample[]) => {
    if (ask === undefined) return;
    const value = await withDeadline(ask, AbortSignal.timeout(deadlineMs));
    for (const gauge of gauges) {
      gauge.reset();
      gauge.remove({});
    }
    if (value === undefined) return;
    for (const { gauge, labels = {}, value: each } of read(value)) gauge.set(labels, each);
  };
  /** Gauges without labels. */
  const values = <T>(ask: Asked<T> | undefined, gauges: readonly Gauge[], read: (value: T) => number[]) =>
    fill(ask, gauges, (value) => read(value).map((each, at) => ({ gauge: gauges[at]!, value: each })));
  const count = (ask: Asked<number> | undefined, gauge: Gauge) => values(ask, [gauge], (value) => [value]);
  const byLabel = (label: string, gauge: Gauge, all: Record<string, number>): Sample[] =>
    Object.entries(all).map(([of, value]) => ({ gauge, value, labels: { [label]: of } }));

  const { queueJobs, queueOldestJobAge: oldestJob, mcpServers, mcpInstances, isolationLevel } = metrics;
  await Promise.all([
    count(sources.sessions, metrics.sessions),
    count(sources.workspaceBytes, metrics.workspaceBytes),
    count(sources.workspaceFreeBytes, metrics.workspaceFreeBytes),
    count(sources.auditSpoolRows, metrics.auditSpoolRows),
    count(sources.mcpProcesses, metrics.mcpProcesses),
    count(sources.toolChangesHeld, metrics.toolChangesHeld),
    count(sources.serversBelowIsolation, metrics.serversBelowIsolation),
    values(sources.auditBroken, [metrics.auditBroken], (broken) => [Number(broken)]),
    values(sources.issuerKeysReadAt, [metrics.issuerKeysReadAt], (readAt) => [readAt / 1000]),
    values(sources.approvals, [metrics.approvalsPending, metrics.approvalsOldestAge], (approvals) => [
      approvals.count,
      approvals.oldestAgeMs / 1000,
    ]),
    values(sources.budgets, [metrics.budgetLargestShare, metrics.budgetsExhausted], (budgets) => [
      budgets.largestShare,
      budgets.exhausted,
    ]),
    fill(sources.queue, [queueJobs, oldestJob], ({ oldestAgeMs, ...jobs }) => [
      ...byLabel('state', queueJobs, jobs),
      { gauge: oldestJob, value: oldestAgeMs / 1000 },
    ]),
    fill(sources.mcpServers, [mcpServers], (states) => byLabel('state', mcpServers, states)),
    fill(sources.isolationLevels, [isolationLevel], (levels) => byLabel('server', isolationLevel, levels)),
    fill(sources.mcpInstances, [mcpInstances], (instances) =>
      instances.map(({ count: value, ...labels }) => ({ gauge: mcpInstances, value, labels })),
    ),
  ]);
}

/** The answer, or undefined when it fails or does not come in time. */
async function withDeadline<T>(ask: Asked<T>, signal: AbortSignal): Promise<T | undefined> {
  const answer = (async () => ask(signal))().catch(() => undefined);
  return Promise.race([answer, once(signal, 'abort').then(() => undefined)]);
}
