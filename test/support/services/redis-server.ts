// Whether this machine has a `redis-server`. Suites that need one are skipped without it, by name.
import { spawnSync } from 'node:child_process';

/** What to do about it; undefined where it is there. */
export const noRedis: string | undefined =
  spawnSync('redis-server', ['--version']).status === 0
    ? undefined
    : 'needs redis-server: apt-get install redis-server, or brew install redis';
