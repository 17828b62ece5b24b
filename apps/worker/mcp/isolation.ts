// How strongly command servers are kept apart from the rest of the machine here, and whether that is enough for one.
// Nothing is ever run below what it asks for.
import { spawnSync } from 'node:child_process';
import type { Config } from '#libs/config/schema.js';
import type { ProcessLimits } from './process/process-tree.js';
import { highestMark, markOption } from './process/tree-mark.js';
import { findOnPath } from './resolve-command.js';

export type IsolationLevel = Config['isolation']['minimum'];

const levels: readonly IsolationLevel[] = ['none', 'process', 'confined', 'namespace'];

/** What this version has: scrubbed environment, own directory, own process group, limits where the system has them. */
export const availableIsolation: IsolationLevel = 'process';

/** Why a server that must have at least `required` may not run; undefined when it may. */
export function isolationRefusal(required: IsolationLevel): string | undefined {
  if (levels.indexOf(required) <= levels.indexOf(availableIsolation)) return undefined;
  return (
    `it must run with isolation '${required}', and this worker has '${availableIsolation}': ` +
    `write "isolation: ${availableIsolation}" to it, or say MIN_ISOLATION=${availableIsolation} for all`
  );
}

const dataBytes = 4 * 1024 ** 3;
const cpuSeconds = 3_600;
const openFiles = 4_096;

/** Sets limits by `prlimit` of util-linux, where a trial with it succeeds. */
export function processLimits(path: string, maxFileBytes: number): ProcessLimits {
  const program = findOnPath('prlimit', path);
  if (program === undefined) return noLimits;
  const limits = [`--core=0`, `--cpu=${cpuSeconds}`, `--data=${dataBytes}`, `--fsize=${maxFileBytes}`];
  const options = [...limits, `--nofile=${openFiles}`];
  const maySet = (given: readonly string[]) =>
    spawnSync(program, [...given, program, '--version'], { env: { PATH: path }, stdio: 'ignore', timeout: 5_000 })
      .status === 0;
  if (maySet([...options, markOption(highestMark())])) return { prefix: [program, ...options], carryMark: true };
  return maySet(options) ? { prefix: [program, ...options], carryMark: false } : noLimits;
}

const noLimits: ProcessLimits = { prefix: [], carryMark: false };
