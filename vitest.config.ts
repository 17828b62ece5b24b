import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { noRedis } from './test/support/services/redis-server.js';
import { suitesOnRedis } from './test/redis/suites-on-redis.js';
import { SpreadProjects } from './test/spread-projects.js';

/** These start processes, and mostly wait for them: more at once than two cores, whatever the machine. */
const withProcesses = { maxWorkers: 3, sequence: { groupOrder: 1 } };

const root = fileURLToPath(new URL('.', import.meta.url));

// Tests run the TypeScript itself; suites that start processes run what `npm run build` made of it.
// `--mode faults` (npm run test:faults): all suites of the fault matrix, whole, on both sets of backing services.
export default defineConfig(({ mode }) => ({
  resolve: { alias: [{ find: /^#libs\/(.*)\.js$/, replacement: `${root}libs/$1.ts` }] },
  test: {
    globalSetup: ['./test/support/global-setup.ts'],
    reporters: ['default', './test/project-times.ts'],
    // Imports of the product take seconds: files that run after each other in a process share them.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Of one file: those that wait side by side start processes too.
    maxConcurrency: 3,
    sequence: { sequencer: SpreadProjects },
    // What the compiler made is loaded as it is.
    server: { deps: { external: [/\/dist\//] } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['apps/**/*.test.ts', 'libs/**/*.test.ts', 'scripts/**/*.test.ts'],
          maxWorkers: 2,
        },
      },
      {
        extends: true,
        test: {
          name: 'contract',
          include: ['test/contract/**/*.test.ts', 'test/*.test.ts'],
          ...withProcesses,
        },
      },
      {
        extends: true,
        test: {
          name: 'deploy',
          include: ['test/deploy/**/*.test.ts', 'test/isolation/**/*.test.ts'],
          ...withProcesses,
        },
      },
      { extends: true, test: { name: 'e2e', include: ['test/e2e/**/*.test.ts'], ...withProcesses } },
      {
        extends: true,
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          ...(mode === 'faults' ? { provide: { extent: 'whole' } } : {}),
          ...withProcesses,
          testTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'redis',
          // Without a server test/redis reports what is skipped.
          include: ['test/redis/**/*.test.ts', ...(noRedis === undefined ? suitesOnRedis(mode) : [])],
          provide: { backing: 'redis', extent: mode === 'faults' ? 'whole' : 'part' },
          ...withProcesses,
          testTimeout: 120_000,
        },
      },
      // A browser keeps a core busy, so these run after all others.
      {
        extends: true,
        test: {
          name: 'console',
          include: ['test/console/**/*.test.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
          testTimeout: 120_000,
        },
      },
    ],
  },
}));
