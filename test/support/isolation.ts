// The isolation that this machine supports, detected once per process.
import { inheritedEnvironment } from '#libs/config/child-environment.js';
import { silentLogger } from '#libs/logging/logger.js';
import { Isolation } from '../../apps/worker/sandbox/isolation.js';

let found: Promise<Isolation> | undefined;

export function findTestIsolation(): Promise<Isolation> {
  found ??= Isolation.find({
    path: inheritedEnvironment()['PATH'] ?? '',
    maxFileBytes: 2 ** 30,
    allowUnsandboxed: false,
    logger: silentLogger,
  });
  return found;
}

/** The level that users get: `process` on a machine without support for `confined`. */
export const testLevel = (isolation: Isolation): 'confined' | 'process' =>
  isolation.refusal('confined') === undefined ? 'confined' : 'process';
