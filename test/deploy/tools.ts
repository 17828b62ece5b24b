// Programs that some of these tests need and that npm does not bring. Without one its tests are skipped, by a name that
// says what provides it; continuous integration installs them and fails on a skip.
import { describe } from 'vitest';
import { canRun } from '../support/run-program.js';

const tools = {
  kubectl: { probe: ['version', '--client'], from: 'https://kubernetes.io/docs/tasks/tools/' },
  promtool: { probe: ['--version'], from: 'apt-get install prometheus' },
  'redis-server': { probe: ['--version'], from: 'apt-get install redis-server' },
} as const;

export function withTools(names: readonly (keyof typeof tools)[], body: () => void): void {
  const missing = names.filter((name) => !canRun(name, tools[name].probe));
  const how = missing.map((name) => `${name}: ${tools[name].from}`).join(', ');
  describe.skipIf(missing.length > 0)(missing.length === 0 ? names.join(', ') : `needs ${how}`, body);
}
