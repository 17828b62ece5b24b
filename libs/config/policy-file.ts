// `policy.file`: default and rules from a file of their own, put in where the configuration has the name of the file.
import { dirname, resolve } from 'node:path';
import { formatKey, type ConfigProblem } from './config-error.js';
import { parseFile, type ParsedFile } from './files/parse-file.js';

/** Beside signalbox.yaml, wherever the process was started. */
export function policyFilePath(configPath: string, file: string): string {
  return resolve(dirname(configPath), file);
}

/**
 * The file as it stands in the configuration, below `policy`; undefined where none is named or it cannot be read.
 * @param read throws when it cannot
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
  for (const key of Object.keys(others)) problem(key, 'stands beside policy.file: write it into that file');
  try {
    const parsed = parseFile({ path: file, text: read(file) });
    problems.push(...parsed.problems);
    if ('file' in parsed.tree) problem('file', 'names a file that names another one');
    return { ...parsed, tree: { policy: { ...parsed.tree, file } }, origin: (path) => parsed.origin(path.slice(1)) };
  } catch (error) {
    problem('file', `cannot be read: ${(error as { code?: string }).code ?? 'unreadable'}`);
    return undefined;
  }
}
