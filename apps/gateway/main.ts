// Starts a gateway, and stops it in order: not ready, no new turns, the end of running turns, then the rest.
import 'reflect-metadata';
import { loadConfig } from '#libs/config/load-config.js';
import { runProcess } from '#libs/process/run-process.js';
import { tuneV8 } from '#libs/process/tune-v8.js';
import { startGateway } from './start-gateway.js';

tuneV8(50);
await runProcess('gateway', loadConfig, startGateway);
