// What is started, as `npm run build` makes it.
export const entryPoints = [
  'dist/apps/gateway/main.js',
  'dist/apps/worker/main.js',
  'dist/apps/chimech/main.js',
  'dist/scripts/start.js',
];
