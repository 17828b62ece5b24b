// The JobQueue on PostgreSQL: BullMQ adds jobs; queries over many jobs, which BullMQ has no call for, read its job table
// (its layout is stable within a major version; the conformance suite checks it).
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { JobAdder } from '../bullmq/job-adder.js';
import type { BullmqSource } from '../bullmq/bullmq-source.js';
import { commonQueueName, workerOfQueue, workerQueueName } from '../bullmq/job-id.js';
import type { AddOptions, JobQueue, QueueCounts } from '../job-queue.js';
import { retryWhileAway } from '../retry-while-away.js';
import { withinDeadline } from '#libs/store-error/store-error.js';
import type { BackingDatabase } from './database.js';

/** Finds the names of our queues by steps through the primary key instead of reading every job. */
const queueNames = `
with recursive step(queue) as (
  (select queue from bullmq.job order by queue limit 1)
  union all
  select (select j.queue from bullmq.job j where j.queue > s.queue order by j.queue limit 1)
  from step s where s.queue is not null
), queues as (
  select queue from step where queue = '${commonQueueName}' or starts_with(queue, '${commonQueueName}-')
)`;

const countsStatement = `${queueNames}
select
  coalesce(sum(waiting), 0)::int as waiting,
  coalesce(sum(active), 0)::int as active,
  min(oldest)::float8 as oldest
from queues q, lateral (
  select
    (select count(*) from bullmq.job j where j.queue = q.queue and state = 'waiting')
      + (select count(*) from bullmq.job j where j.queue = q.queue and state = 'delayed') as waiting,
    (select count(*) from bullmq.job j where j.queue = q.queue and state = 'active') as active,
    least(
      (select min(added_at_ms) from bullmq.job j where j.queue = q.queue and state = 'waiting'),
      (select min(added_at_ms) from bullmq.job j where j.queue = q.queue and state = 'delayed')) as oldest
) as of_queue`;

export class PostgresJobQueue implements JobQueue {
  private readonly adder: JobAdder;

  constructor(
    private readonly database: BackingDatabase,
    source: BullmqSource,
    onError: (error: unknown) => void,
  ) {
    this.adder = new JobAdder(source, onError);
  }

  add(job: ToolJob, options: AddOptions): Promise<unknown> {
    const { signal, silenceMs: timeoutMs = this.database.timeoutMs } = options;
    return retryWhileAway(this.database, { timeoutMs, signal }, (isRetry) =>
      this.adder.add(job, isRetry ? { ...options, again: true } : options),
    );
  }

  async existing(callIds: readonly string[], signal: AbortSignal): Promise<Set<string>> {
    if (callIds.length === 0) return new Set();
    const { rows } = await this.database.run<{ id: string }>(
      `${queueNames} select distinct j.id from queues q join bullmq.job j on j.queue = q.queue and j.id = any($1::text[])`,
      [callIds.flatMap((callId) => this.adder.idsOf(callId))],
      signal,
    );
    const found = new Set(rows.map((row) => row.id));
    return new Set(callIds.filter((callId) => this.adder.idsOf(callId).some((id) => found.has(id))));
  }

  async remove(callId: string, signal: AbortSignal): Promise<boolean> {
    // A single statement, so that a worker that claims the job meanwhile keeps it.
    const { rowCount } = await this.database.run(
      `${queueNames} delete from bullmq.job j using queues q
       where j.queue = q.queue and j.id = any($1::text[]) and j.state in ('waiting', 'delayed')`,
      [this.adder.idsToRemove(callId)],
      signal,
    );
    return (rowCount ?? 0) > 0;
  }

  async counts(signal: AbortSignal): Promise<QueueCounts> {
    const { rows } = await this.database.run<Omit<QueueCounts, 'oldestAgeMs'> & { oldest: number | null }>(
      countsStatement,
      [],
      signal,
    );
    const { waiting, active, oldest } = rows[0]!;
    return { waiting, active, oldestAgeMs: oldest === null ? 0 : Math.max(0, Date.now() - oldest) };
  }

  waitingFor(worker: string, signal: AbortSignal): Promise<ToolJob[]> {
    return withinDeadline(this.database.timeoutMs, signal, () => this.adder.waitingFor(worker));
  }

  async ownQueues(signal: AbortSignal): Promise<string[]> {
    const { rows } = await this.database.run<{ queue: string }>(`${queueNames} select queue from queues`, [], signal);
    return rows.flatMap(({ queue }) => workerOfQueue(queue) ?? []);
  }

  async forgetWorker(worker: string, signal: AbortSignal): Promise<void> {
    const tables = ['event', 'meta', 'metrics', 'rate_limit'];
    const others = tables.map((table) => `from_${table} as (delete from bullmq.${table} where queue = $1)`);
    await this.database.run(
      `with ${others.join(', ')} delete from bullmq.job where queue = $1`,
      [workerQueueName(worker)],
      signal,
    );
  }

  async close(): Promise<void> {
    await this.adder.close();
  }
}
