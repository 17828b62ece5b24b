// Where `npm run build` puts the launcher (launcher/*.c). It is missing if the build machine had no C compiler or
// another architecture, and on systems other than Linux.
import { existsSync } from 'node:fs';
import { installedPath } from '#libs/process/find-installed.js';

export function findLauncher(): string | undefined {
  const program = installedPath(`dist/launcher-${process.arch}`);
  return existsSync(program) ? program : undefined;
}

export const howToGetLauncher =
  process.platform === 'linux'
    ? 'install a C compiler (Debian: apt-get install gcc libc6-dev) and run `node scripts/build-launcher.mjs` where Signalbox is installed'
    : 'use Linux: this system has neither Landlock nor seccomp';
