// Where `npm run build` puts the launcher (launcher/*.c). It is not there where the machine has no C compiler, and on
// systems that are not Linux.
import { existsSync } from 'node:fs';
import { installedPath } from '#libs/process/find-installed.js';

export function findLauncher(): string | undefined {
  const program = installedPath('dist/launcher');
  return existsSync(program) ? program : undefined;
}

/** One line for the operator. */
export const howToGetLauncher =
  process.platform === 'linux'
    ? 'install a C compiler (Debian: apt-get install gcc libc6-dev) and run `npm run build`'
    : 'use Linux: this system has neither Landlock nor seccomp';
