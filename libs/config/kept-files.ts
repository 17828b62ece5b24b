// Files that secrets were read from, which no tool server may read: those that a variable `NAME_FILE` names, and the
// configuration itself.
import { resolve } from 'node:path';

export function keptFiles(environment: Readonly<Record<string, string | undefined>> = process.env): string[] {
  const named = Object.entries(environment).filter(([name]) => name.endsWith('_FILE') || name === 'SIGNALBOX_CONFIG');
  return [...named.map(([, path]) => path ?? ''), 'signalbox.yaml', '.env']
    .filter((path) => path !== '')
    .map((path) => resolve(path));
}
