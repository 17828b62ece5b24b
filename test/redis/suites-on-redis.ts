// Suites of other folders that run a second time with Redis as the set of backing services.
const always = [
  'test/e2e/rates.test.ts',
  'test/e2e/runs.test.ts',
  'test/e2e/tool-call.test.ts',
  'test/e2e/tool-jobs.test.ts',
  'test/faults/storm.test.ts',
  'test/faults/worker-kill.test.ts',
];

/** Rest on what the others and the contract suites prove of the set: minutes that `npm test` does not have. */
const inFaultsMode = [
  'test/e2e/session-affinity.test.ts',
  'test/e2e/turns.test.ts',
  'test/faults/clock-jump.test.ts',
  'test/faults/gateway-kill.test.ts',
  'test/faults/keyed-tool-call.test.ts',
  'test/faults/postgres-away.test.ts',
  'test/faults/rolling-restart.test.ts',
  'test/faults/worker-stopped.test.ts',
];

/** @param mode vitest's; `faults` is `npm run test:faults` */
export const suitesOnRedis = (mode: string): string[] => (mode === 'faults' ? [...always, ...inFaultsMode] : always);
