// Where `npm run build` puts the launcher (launcher/*.c). It is not there where the machine has no C compiler, and on
// systems that are not Linux.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Beside the compiled program, whether this runs from `dist` or from the sources. */
export function findLauncher(): string | undefined {
  for (let directory = import.meta.dirname; directory !== dirname(directory); directory = dirname(directory)) {
    if (!existsSync(join(directory, 'package.json'))) continue;
    const program = join(directory, 'dist', 'launcher');
    return existsSync(program) ? program : undefined;
  }
  return undefined;
}

/** One line for the operator. */
export const howToGetLauncher =
  process.platform === 'linux'
    ? 'install a C compiler (Debian: apt-get install gcc libc6-dev) and run `npm run build`'
    : 'use Linux: this system has neither Landlock nor seccomp';
