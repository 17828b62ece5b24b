// Adds jobs to a queue of BullMQ and waits for each by its QueueEvents, as its documentation does: the peer of our queue.
import { Queue, QueueEvents } from 'bullmq';
import { bullmqPart } from './bullmq-part.js';
import { answerTheBench, keepBusy } from './keep-busy.js';

const { name, connection } = bullmqPart();
const answerMs = 10_000;
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
process.send!('ready');
