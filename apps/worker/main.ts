// Starts one worker and stops it in order: not ready, no new job, those under way, then the rest.
import 'reflect-metadata';
import { loadConfig } from '#libs/config/load-config.js';
import { runProcess } from '#libs/process/run-process.js';
import { tuneV8 } from '#libs/process/tune-v8.js';
import { startWorker } from './start-worker.js';

// A worker makes little that is old before it is garbage: collecting it early costs nothing that can be measured.
tuneV8(20);
await runProcess('worker', loadConfig, startWorker);
