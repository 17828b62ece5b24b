// Starts one worker and stops it in order: not ready, no new job, those under way, then the rest.
import 'reflect-metadata';
import { loadConfig } from '#libs/config/load-config.js';
import { boundHeapGrowth } from '#libs/process/bound-heap-growth.js';
import { runProcess } from '#libs/process/run-process.js';
import { startWorker } from './start-worker.js';

boundHeapGrowth();
await runProcess('worker', loadConfig, startWorker);
