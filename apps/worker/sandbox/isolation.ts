// Detects the levels of isolation on this machine by trying them, and starts servers at one. Never runs a server
// below the requested level.
import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { findOnPath } from './resolve-command.js';
import { tryLevel } from './canary.js';
import { findLauncher, howToGetLauncher } from './launcher-program.js';
import { isolationLevels, levelNumber, type IsolationLevel } from './levels.js';
import { sandboxWords, type SandboxPrograms, type SandboxRequest } from './sandbox-words.js';
import { ToolProcess } from './tool-process.js';
import { changesUser, isOpenToAll, mayKeepReading, userOf } from './tool-user.js';

export interface IsolationOptions {
  /** Where programs are looked for. */
  path: string;
  /** The largest file that a server may write. */
  maxFileBytes: number;
  allowUnsandboxed: boolean;
  /** Instead of the one that was built; for tests. */
  launcher?: string | undefined;
  logger: Logger;
}

/** The request, in the terms of the code that starts a server. */
export interface Launch extends Omit<SandboxRequest, 'user' | 'keepReading' | 'keepWriting'> {
  /** Complete: nothing is inherited. */
  environment: Readonly<Record<string, string>>;
}

export class Isolation {
  private constructor(
    private readonly programs: SandboxPrograms | undefined,
    /** Unavailable levels, and why. */
    private readonly missing: ReadonlyMap<IsolationLevel, string>,
    private readonly logger: Logger,
  ) {}

  /** Tries every level; takes about a tenth of a second. */
  static async find(options: IsolationOptions): Promise<Isolation> {
    const { path, maxFileBytes, logger, launcher = findLauncher() } = options;
    const missing = new Map<IsolationLevel, string>();
    if (!options.allowUnsandboxed) missing.set('none', 'isolation.allow_unsandboxed is not set');
    if (launcher === undefined) {
      const reason = `the launcher is missing: ${howToGetLauncher}`;
      for (const level of ['confined', 'namespace'] as const) missing.set(level, reason);
      return new Isolation(undefined, missing, logger);
    }
    const bubblewrap = findOnPath('bwrap', path);
    const programs = { launcher, maxFileBytes, ...(bubblewrap === undefined ? {} : { bubblewrap }) };
    const [confined, namespace] = await Promise.all([
      tryLevel('confined', programs),
      bubblewrap === undefined ? 'bubblewrap is not installed' : tryLevel('namespace', programs),
    ]);
    if (confined !== undefined) missing.set('confined', `this machine cannot confine processes: ${confined}`);
    if (confined !== undefined || namespace !== undefined) missing.set('namespace', namespace ?? confined!);
    // A launcher that cannot start a process (other processor or C library) is treated as missing.
    const works = confined === undefined || (await tryLevel('process', programs)) === undefined;
    return new Isolation(works ? programs : undefined, missing, logger);
  }

  /** The highest level available to command servers. */
  get strongest(): IsolationLevel {
    return isolationLevels.findLast((level) => !this.missing.has(level)) ?? 'process';
  }

  /** Why nothing can run at the level here; undefined if it can. */
  refusal(level: IsolationLevel): string | undefined {
    const reason = this.missing.get(level);
    if (reason === undefined) return undefined;
    const other = this.strongest;
    const weaker = levelNumber(other) < levelNumber(level) ? `; "isolation: ${other}" would run it with less` : '';
    return `it requires isolation '${level}', which this worker does not have: ${reason}${weaker}`;
  }

  /** Whether a server at the level runs as a user of its own, with access only to what all users may access. */
  needsOpenPaths(level: IsolationLevel): boolean {
    return changesUser() && level !== 'none' && !(level === 'confined' && mayKeepReading());
  }

  /** @throws AppError tool_unavailable, isolation_too_low */
  async start(level: IsolationLevel, launch: Launch): Promise<ToolProcess> {
    const refusal = this.refusal(level);
    if (refusal !== undefined) throw new AppError('isolation_too_low', `The tool server is refused: ${refusal}`);
    const { environment } = launch;
    const directory = await realpath(launch.directory);
    const user = level === 'none' ? undefined : await userOf(directory);
    const { programs } = this;
    const own = user === undefined ? {} : { user };
    const base = { cwd: directory, environment };
    if (programs === undefined || level === 'none') {
      return ToolProcess.start({ ...base, ...own, words: [launch.file, ...launch.args], supervised: false });
    }
    const isConfined = level === 'confined' && user !== undefined;
    const named = [launch.file, ...launch.readable, ...launch.writable, dirname(directory)];
    const request = {
      ...launch,
      ...own,
      directory,
      keepReading: isConfined && mayKeepReading() && !named.every(isOpenToAll),
      // What the operator names belongs to root, or to a person.
      keepWriting: isConfined && launch.writable.length > 0,
    };
    return ToolProcess.start({ ...base, words: sandboxWords(level, request, programs), supervised: true });
  }

  /** Logs why the wanted level is unavailable, if it is. */
  report(wanted: IsolationLevel): void {
    const reason = this.missing.get(wanted);
    if (reason === undefined) return;
    this.logger.warn({ metadata: { level: wanted } }, `isolation '${wanted}' is not available here: ${reason}`);
  }
}
