// Runs `prisma generate`. Its CLI wants to download an engine that generating does not need: any existing file will do.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';

const cli = createRequire(import.meta.url).resolve('prisma/build/index.js');
const { status } = spawnSync(process.execPath, [cli, 'generate'], {
  stdio: ['ignore', 'ignore', 'inherit'],
  env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' },
});
process.exit(status ?? 1);
