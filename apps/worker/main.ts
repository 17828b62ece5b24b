// Starts a worker, and stops it in order: not ready, no new jobs, the end of running jobs, then the rest.
import 'reflect-metadata';
import { loadConfig } from '#libs/config/load-config.js';
import { runProcess } from '#libs/process/run-process.js';
import { tuneV8 } from '#libs/process/tune-v8.js';
import { startWorker } from './start-worker.js';

// Nearly all objects of a worker are short-lived, so early collections cost nothing measurable.
tuneV8(20);
await runProcess('worker', loadConfig, startWorker);
