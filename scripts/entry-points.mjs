// What is started, as `npm run build` makes it: programs, modules that one of them loads by its path, and threads.
export const entryPoints = [
  'dist/apps/gateway/main.js',
  'dist/apps/worker/main.js',
  'dist/apps/chimech/main.js',
  'dist/apps/chimech/own-tools.module.js',
  'dist/apps/chimech/analyze/answer-tasks.js',
  'dist/apps/chimech/knowledge/import/reading-thread.js',
  'dist/scripts/start.js',
  'dist/scripts/migrate.js',
  'dist/scripts/config.js',
  'dist/scripts/policy.js',
  'dist/scripts/replay.js',
  'dist/scripts/keys.js',
  'dist/scripts/audit.js',
  'dist/scripts/kb-import.js',
  'dist/scripts/mcp-stdio.js',
  'dist/scripts/check-health.js',
];
