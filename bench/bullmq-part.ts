// The peer of our queue, BullMQ alone in the Redis of the system under measure: `echo` takes jobs and answers each at once; `trips`
// adds them and waits for each by its QueueEvents, as its documentation does. Arguments: which of the two, and the address.
import { Queue, QueueEvents, Worker } from 'bullmq';
import { answerTheBench, keepBusy } from './keep-busy.js';

const [part, url] = process.argv.slice(2) as ['echo' | 'trips', string];
const name = 'bench-bullmq-alone';
const connection = { url, maxRetriesPerRequest: null };
const answerMs = 10_000;

async function echo(): Promise<void> {
  const worker = new Worker(name, async (job) => job.data as unknown, { connection, concurrency: 64 });
  await worker.waitUntilReady();
  process.once('disconnect', () => process.exit(0));
}

async function trips(): Promise<void> {
  const queue = new Queue(name, { connection });
  const events = new QueueEvents(name, { connection });
  // Each job that is waited for listens to both.
  for (const each of [queue, events]) each.setMaxListeners(0);
  await Promise.all([queue.waitUntilReady(), events.waitUntilReady()]);
  answerTheBench((busy) =>
    keepBusy(busy, async () => {
      const job = await queue.add('say', { text: 'hello' }, { removeOnComplete: 1_000 });
      await job.waitUntilFinished(events, answerMs);
    }),
  );
}

await (part === 'echo' ? echo() : trips());
process.send!('ready');
