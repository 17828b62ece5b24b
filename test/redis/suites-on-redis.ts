// Suites of other folders that run a second time with Redis as the set of backing services.
export const suitesOnRedis = ['test/e2e/runs.test.ts', 'test/e2e/tool-call.test.ts'] as const;
