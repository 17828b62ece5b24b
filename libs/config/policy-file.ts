// Reads `policy.file`, a separate file with the policy's default and rules.
import { dirname, resolve } from 'node:path';
import { formatKey, type ConfigProblem } from './config-error.js';
import { parseFile, type ParsedFile } from './files/parse-file.js';

/** Relative to signalbox.yaml, not to the working directory. */
export function policyFilePath(configPath: string, file: string): string {
  return resolve(dirname(configPath), file);
}

/**
 * The file's content below `policy`, as in the configuration. Undefined if there is no file or it cannot be read.
 * @param read throws if it cannot read the file
 */
export function readPolicyFile(
  policy: unknown,
  read: ((path: string) => string) | undefined,
  problems: ConfigProblem[],
): ParsedFile | undefined {
  if (typeof policy !== 'object' || policy === null) return undefined;
  const { file, ...others } = policy as Record<string, unknown>;
  if (typeof file !== 'string' || file === '' || read === undefined) return undefined;
  const problem = (key: string, message: string) => void problems.push({ key: formatKey(['policy', key]), message });
  for (const key of Object.keys(others)) problem(key, 'cannot be set beside policy.file: move it to that file');
  try {
    const parsed = parseFile({ path: file, text: read(file) });
    problems.push(...parsed.problems);
    if ('file' in parsed.tree) problem('file', 'names a file that itself names a policy file');
    return { ...parsed, tree: { policy: { ...parsed.tree, file } }, origin: (path) => parsed.origin(path.slice(1)) };
  } catch (error) {
    problem('file', `cannot be read: ${(error as { code?: string }).code ?? 'unreadable'}`);
    return undefined;
  }
}
