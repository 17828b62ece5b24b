// Compiles the sources into build/, and bundles what runs into dist/; a part of `npm run build`. The programs get the time at
// which this began, so that scripts/ensure-built.mjs sees what has changed since.
import { spawnSync } from 'node:child_process';
import { utimesSync } from 'node:fs';
import { bundle } from './bundle.mjs';
import { entryPoints } from './entry-points.mjs';

const began = new Date();
const { status, error } = spawnSync('nest', ['build', 'gateway', 'worker', 'chimech', 'scripts'], {
  stdio: 'inherit',
  shell: process.platform === 'win32',
});
if (error !== undefined) console.error(error.message);
if (status !== 0) process.exit(status ?? 1);
await bundle(entryPoints);
for (const path of entryPoints) utimesSync(path, began, began);
