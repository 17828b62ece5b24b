// What a program that we start inherits of our own environment: where programs are, and the language. Nothing else: a
// worker's environment holds secrets.
import { delimiter, isAbsolute } from 'node:path';

/** Entries of PATH that are not absolute are left out: they would be looked up below the program's own directory. */
export function inheritedEnvironment(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const path = (environment['PATH'] ?? '').split(delimiter).filter(isAbsolute).join(delimiter);
  return { PATH: path, LANG: environment['LANG'] ?? 'C.UTF-8' };
}
