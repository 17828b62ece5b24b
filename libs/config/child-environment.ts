// The environment that started programs inherit from ours: PATH and LANG only, because ours contains secrets.
import { delimiter, isAbsolute } from 'node:path';

/** Leaves out relative entries of PATH, which would refer to the program's own directory. */
export function inheritedEnvironment(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const path = (environment['PATH'] ?? '').split(delimiter).filter(isAbsolute).join(delimiter);
  return { PATH: path, LANG: environment['LANG'] ?? 'C.UTF-8' };
}
