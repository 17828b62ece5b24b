// Fills the gauges that are looked up at a scrape. A source that does not answer in time leaves its gauge out: a missing
// value is honest, an old one is not. A scrape never waits longer than the deadline.
import type { QueueCounts } from '#libs/backing/job-queue.js';
import type { Metrics } from './metrics.js';

/** Each is asked at a scrape; what a process does not know it leaves out. */
export interface GaugeSources {
  queue?(signal: AbortSignal): Promise<QueueCounts>;
  sessions?(signal: AbortSignal): Promise<number>;
  workspaceBytes?(signal: AbortSignal): Promise<number>;
  workspaceFreeBytes?(signal: AbortSignal): Promise<number>;
  /** State (`ready`, `down`, `refused`, …) to how many servers are in it. */
  mcpServers?(signal: AbortSignal): Promise<Record<string, number>>;
  /** Every state of every server, zero included. */
  mcpInstances?(signal: AbortSignal): Promise<{ server: string; state: string; count: number }[]>;
  /** Outcomes on disk that the store could not take yet. */
  auditSpoolRows?(signal: AbortSignal): Promise<number>;
  mcpProcesses?(signal: AbortSignal): Promise<number>;
  /** Command server to its level, 0 to 3. */
  isolationLevels?(signal: AbortSignal): Promise<Record<string, number>>;
  serversBelowIsolation?(signal: AbortSignal): Promise<number>;
  toolChangesHeld?(signal: AbortSignal): Promise<number>;
  approvals?(signal: AbortSignal): Promise<{ count: number; oldestAgeMs: number }>;
  /** Of callers with a budget. */
  budgets?(signal: AbortSignal): Promise<{ largestShare: number; exhausted: number }>;
  /** Undefined where nobody has looked. */
  auditBroken?(signal: AbortSignal): Promise<boolean | undefined>;
  /** Epoch ms; 0: never. Undefined without an issuer. */
  issuerKeysReadAt?(signal: AbortSignal): Promise<number | undefined>;
}

const deadlineMs = 500;

export async function collectGauges(metrics: Metrics, sources: GaugeSources): Promise<void> {
  const fill = async <T>(
    source: ((signal: AbortSignal) => Promise<T>) | undefined,
    reset: () => void,
    set: (value: T) => void,
  ) => {
    if (source === undefined) return;
    const signal = AbortSignal.timeout(deadlineMs);
    const value = await withDeadline(source, signal);
    reset();
    if (value !== undefined) set(value);
  };
  await Promise.all([
    fill(
      sources.queue?.bind(sources),
      () => {
        metrics.queueJobs.reset();
        metrics.queueOldestJobAge.remove();
      },
      ({ waiting, active, oldestAgeMs }) => {
        for (const [state, count] of Object.entries({ waiting, active })) metrics.queueJobs.set({ state }, count);
        metrics.queueOldestJobAge.set(oldestAgeMs / 1000);
      },
    ),
    fill(
      sources.sessions?.bind(sources),
      () => metrics.sessions.remove(),
      (count) => metrics.sessions.set(count),
    ),
    fill(
      sources.workspaceBytes?.bind(sources),
      () => metrics.workspaceBytes.remove(),
      (bytes) => metrics.workspaceBytes.set(bytes),
    ),
    fill(
      sources.workspaceFreeBytes?.bind(sources),
      () => metrics.workspaceFreeBytes.remove(),
      (bytes) => metrics.workspaceFreeBytes.set(bytes),
    ),
    fill(
      sources.mcpServers?.bind(sources),
      () => metrics.mcpServers.reset(),
      (states) => {
        for (const [state, count] of Object.entries(states)) metrics.mcpServers.set({ state }, count);
      },
    ),
    fill(
      sources.isolationLevels?.bind(sources),
      () => metrics.isolationLevel.reset(),
      (levels) => {
        for (const [server, level] of Object.entries(levels)) metrics.isolationLevel.set({ server }, level);
      },
    ),
    fill(
      sources.mcpInstances?.bind(sources),
      () => metrics.mcpInstances.reset(),
      (counts) => {
        for (const { server, state, count } of counts) metrics.mcpInstances.set({ server, state }, count);
      },
    ),
    fill(
      sources.auditSpoolRows?.bind(sources),
      () => metrics.auditSpoolRows.remove(),
      (rows) => metrics.auditSpoolRows.set(rows),
    ),
    fill(
      sources.mcpProcesses?.bind(sources),
      () => metrics.mcpProcesses.remove(),
      (count) => metrics.mcpProcesses.set(count),
    ),
    fill(
      sources.toolChangesHeld?.bind(sources),
      () => metrics.toolChangesHeld.remove(),
      (count) => metrics.toolChangesHeld.set(count),
    ),
    fill(
      sources.serversBelowIsolation?.bind(sources),
      () => metrics.serversBelowIsolation.remove(),
      (count) => metrics.serversBelowIsolation.set(count),
    ),
    fill(
      sources.approvals?.bind(sources),
      () => {
        metrics.approvalsPending.remove();
        metrics.approvalsOldestAge.remove();
      },
      ({ count, oldestAgeMs }) => {
        metrics.approvalsPending.set(count);
        metrics.approvalsOldestAge.set(oldestAgeMs / 1000);
      },
    ),
    fill(
      sources.budgets?.bind(sources),
      () => {
        metrics.budgetLargestShare.remove();
        metrics.budgetsExhausted.remove();
      },
      ({ largestShare, exhausted }) => {
        metrics.budgetLargestShare.set(largestShare);
        metrics.budgetsExhausted.set(exhausted);
      },
    ),
    fill(
      sources.auditBroken?.bind(sources),
      () => metrics.auditBroken.remove(),
      (broken) => metrics.auditBroken.set(Number(broken)),
    ),
    fill(
      sources.issuerKeysReadAt?.bind(sources),
      () => metrics.issuerKeysReadAt.remove(),
      (readAt) => metrics.issuerKeysReadAt.set(readAt! / 1000),
    ),
  ]);
}

/** The answer, or undefined when it fails or does not come in time. */
async function withDeadline<T>(ask: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const late = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const answer = (async () => ask(signal))().catch(() => undefined);
  return Promise.race([answer, late]);
}
