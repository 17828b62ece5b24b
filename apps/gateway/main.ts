// Starts one gateway and stops it in order: not ready, no new turn, those under way, then the rest.
import 'reflect-metadata';
import { loadConfig } from '#libs/config/load-config.js';
import { boundHeapGrowth } from '#libs/process/bound-heap-growth.js';
import { runProcess } from '#libs/process/run-process.js';
import { startGateway } from './start-gateway.js';

boundHeapGrowth();
await runProcess('gateway', loadConfig, startGateway);
