// The levels of isolation of command servers, weakest first: docs/isolation.md says what each one prevents.
import type { Config } from '#libs/config/schema.js';

export type IsolationLevel = Config['isolation']['minimum'];

export const isolationLevels: readonly IsolationLevel[] = ['none', 'process', 'confined', 'namespace'];

export type Forbidden =
  'environment' | 'limits' | 'files' | 'processes' | 'network' | 'sockets' | 'system_calls' | 'seeing_host';

/** What a level keeps servers from, in addition to the levels before it. The network is apart: a server may be allowed it. */
const forbidden: Readonly<Record<IsolationLevel, readonly Forbidden[]>> = {
  none: [],
  process: ['environment', 'limits'],
  confined: ['files', 'processes', 'sockets', 'system_calls'],
  namespace: ['seeing_host'],
};

export function forbiddenBy(level: IsolationLevel, network: 'none' | 'some' | 'full'): Forbidden[] {
  const found = isolationLevels.slice(0, levelNumber(level) + 1).flatMap((each) => forbidden[each]);
  const isConfined = levelNumber(level) >= levelNumber('confined');
  return isConfined && network !== 'full' ? [...found, 'network'] : found;
}

/** 0 to 3. */
export const levelNumber = (level: IsolationLevel): number => isolationLevels.indexOf(level);
