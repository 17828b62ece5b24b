// Starts one worker and stops it in order: not ready, no new job, those under way, then the rest.
import 'reflect-metadata';
import { loadConfig } from '#libs/config/load-config.js';
import { runProcess } from '#libs/process/run-process.js';
import { tuneHeap } from '#libs/process/tune-heap.js';
import { startWorker } from './start-worker.js';

tuneHeap();
await runProcess('worker', loadConfig, startWorker);
