// Takes the jobs of bullmq-trips.ts and answers each at once.
import { Worker } from 'bullmq';
import { bullmqPart } from './bullmq-part.js';

const { name, connection } = bullmqPart();
const worker = new Worker(name, async (job) => job.data as unknown, { connection, concurrency: 64 });
await worker.waitUntilReady();
process.send!('ready');
process.once('disconnect', () => process.exit(0));
