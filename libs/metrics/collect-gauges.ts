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

type Value<Name extends keyof GaugeSources> = NonNullable<Awaited<ReturnType<NonNullable<GaugeSources[Name]>>>>;

interface OneValue {
  set(value: number): void;
  remove(): void;
}

export async function collectGauges(metrics: Metrics, sources: GaugeSources): Promise<void> {
  /** `clear` takes away what an earlier scrape set. */
  const fill = async <Name extends keyof GaugeSources>(
    name: Name,
    clear: () => void,
    set: (value: Value<Name>) => void,
  ): Promise<void> => {
    if (sources[name] === undefined) return;
    const value = await withDeadline<unknown>((signal) => sources[name]!(signal), AbortSignal.timeout(deadlineMs));
    clear();
    if (value !== undefined) set(value as Value<Name>);
  };
  /** Gauges without labels. */
  const values = <Name extends keyof GaugeSources>(
    name: Name,
    gauges: readonly OneValue[],
    read: (value: Value<Name>) => number[],
  ) =>
    fill(
      name,
      () => gauges.forEach((gauge) => gauge.remove()),
      (value) => read(value).forEach((each, at) => gauges[at]!.set(each)),
    );
  type Count =
    'sessions' | 'workspaceBytes' | 'workspaceFreeBytes' | 'auditSpoolRows' | 'mcpProcesses' | 'toolChangesHeld';
  const count = (name: Count | 'serversBelowIsolation', gauge: OneValue) => values(name, [gauge], (value) => [value]);

  await Promise.all([
    count('sessions', metrics.sessions),
    count('workspaceBytes', metrics.workspaceBytes),
    count('workspaceFreeBytes', metrics.workspaceFreeBytes),
    count('auditSpoolRows', metrics.auditSpoolRows),
    count('mcpProcesses', metrics.mcpProcesses),
    count('toolChangesHeld', metrics.toolChangesHeld),
    count('serversBelowIsolation', metrics.serversBelowIsolation),
    values('auditBroken', [metrics.auditBroken], (broken) => [Number(broken)]),
    values('issuerKeysReadAt', [metrics.issuerKeysReadAt], (readAt) => [readAt / 1000]),
    values('approvals', [metrics.approvalsPending, metrics.approvalsOldestAge], (approvals) => [
      approvals.count,
      approvals.oldestAgeMs / 1000,
    ]),
    values('budgets', [metrics.budgetLargestShare, metrics.budgetsExhausted], (budgets) => [
      budgets.largestShare,
      budgets.exhausted,
    ]),
    fill(
      'queue',
      () => {
        metrics.queueJobs.reset();
        metrics.queueOldestJobAge.remove();
      },
      ({ waiting, active, oldestAgeMs }) => {
        for (const [state, jobs] of Object.entries({ waiting, active })) metrics.queueJobs.set({ state }, jobs);
        metrics.queueOldestJobAge.set(oldestAgeMs / 1000);
      },
    ),
    fill(
      'mcpServers',
      () => metrics.mcpServers.reset(),
      (states) => {
        for (const [state, servers] of Object.entries(states)) metrics.mcpServers.set({ state }, servers);
      },
    ),
    fill(
      'isolationLevels',
      () => metrics.isolationLevel.reset(),
      (levels) => {
        for (const [server, level] of Object.entries(levels)) metrics.isolationLevel.set({ server }, level);
      },
    ),
    fill(
      'mcpInstances',
      () => metrics.mcpInstances.reset(),
      (instances) => {
        for (const { server, state, count } of instances) metrics.mcpInstances.set({ server, state }, count);
      },
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
