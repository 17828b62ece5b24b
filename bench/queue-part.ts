// The two processes of a queue round trip, by the port and without a journal: `echo` takes jobs and answers each at once through
// the reply channel, as a worker does; `trips` adds them and waits for their answers, as a gateway does. Arguments: which of the
// two, and the backing services of the system under measure.
import { openBacking } from '#libs/backing/open-backing.js';
import { silentLogger } from '#libs/logging/logger.js';
import { openDatabase } from '#libs/postgres/open-database.js';
import { PostgresProcessRegistry } from '#libs/runs/processes/postgres-process-registry.js';
import { mintCallId } from '#libs/schemas/identifiers.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { ReplyInbox } from '../apps/gateway/turn/dispatch/reply-inbox.js';
import { ReplySender } from '../apps/worker/jobs/reply-sender.js';
import { answerTheBench, keepBusy } from './keep-busy.js';

const [part, address] = process.argv.slice(2) as ['echo' | 'trips', string];
const { databaseUrl, redisUrl } = JSON.parse(address) as { databaseUrl: string; redisUrl?: string };
const applicationName = `signalbox-bench-${part}`;
/** Its own queue: the system's worker takes nothing from it. */
const echoWorker = 'bench-echo';
const gatewayId = 'bench-trips';
const concurrency = 64;
const answerMs = 10_000;
const backing = await openBacking({ databaseUrl, redisUrl, applicationName });

async function echo(): Promise<void> {
  // As a worker that lives: the queue of one that nobody knows is removed.
  const database = openDatabase({ url: databaseUrl, poolSize: 1, timeoutMs: 5_000, applicationName });
  const registry = new PostgresProcessRegistry(database, { logger: silentLogger });
  await registry.register({ id: echoWorker, kind: 'worker', details: {} });
  const replies = new ReplySender(backing.channels, silentLogger);
  await backing.consume(
    async ({ job: { callId, replyTo } }) => {
      replies.send(replyTo, {
        kind: 'outcome',
        callId,
        outcome: { state: 'completed', blocks: [{ type: 'text', text: 'hello' }], durationMs: 0 },
      });
    },
    { worker: echoWorker, concurrency },
  );
  process.once('disconnect', () => process.exit(0));
}

async function trips(): Promise<void> {
  const inbox = new ReplyInbox(backing.channels, gatewayId, silentLogger);
  await inbox.start();
  answerTheBench((busy) => keepBusy(busy, () => trip(inbox)));
}

async function trip(inbox: ReplyInbox): Promise<void> {
  const job = newJob();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error('no answer')), answerMs);
  let stopListening: (() => void) | undefined;
  try {
    const answered = new Promise<void>((resolve, reject) => {
      stopListening = inbox.listen(job.callId, { reply: () => resolve(), gap: () => undefined });
      late.signal.addEventListener('abort', () => reject(late.signal.reason as Error));
    });
    await Promise.all([backing.queue.add(job, { worker: echoWorker, signal: late.signal }), answered]);
  } finally {
    clearTimeout(timer);
    stopListening?.();
  }
}

function newJob(): ToolJob {
  const now = Date.now();
  return {
    version: 1,
    callId: mintCallId(true),
    replyTo: gatewayId,
    principal: 'local',
    requestId: 'req_bench',
    sessionId: 'bench',
    server: 'bench',
    tool: 'say',
    name: 'say',
    definitionHash: 'none',
    arguments: { text: 'hello' },
    safe: true,
    priority: 'interactive',
    timeoutMs: answerMs,
    maxTimeoutMs: answerMs,
    deadline: now + answerMs,
    queuedAt: now,
  };
}

await (part === 'echo' ? echo() : trips());
process.send!('ready');
