// Starts one gateway and stops it in order: not ready, no new turn, those under way, then the rest.
import 'reflect-metadata';
import { loadConfig } from '#libs/config/load-config.js';
import { runProcess } from '#libs/process/run-process.js';
import { tuneHeap } from '#libs/process/tune-heap.js';
import { startGateway } from './start-gateway.js';

tuneHeap();
await runProcess('gateway', loadConfig, startGateway);
