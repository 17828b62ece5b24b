// What an attack of the table is: an act of the probe (probe/*.c), the scene it needs, and the level that stops it.
import { isolationLevels, type IsolationLevel } from '../../apps/worker/sandbox/levels.js';
import type { Scene } from './scene.js';

export type Level = IsolationLevel;
export const levels: readonly Level[] = isolationLevels;

/**
 * What the worker runs as. `root`: its servers get a user of their own. `user`: an ordinary one. `hidden-root`: root, and
 * everything lies below a directory that only root may pass. `bare-root`: root without any of its rights, as in a container
 * that drops all capabilities.
 */
export type Worker = 'root' | 'user' | 'hidden-root' | 'bare-root';

/** Whether its servers have another user than it has. */
export const givesUser = (worker: Worker): boolean => worker === 'root' || worker === 'hidden-root';

/** The weakest level that stops an attack; `never`: none of them claims to. */
export type StoppedFrom = Exclude<Level, 'none'> | 'never';

/** `proxy`: nothing but one port of this machine. */
export type Network = 'none' | 'full' | 'proxy';

export interface Prepared {
  args: readonly string[];
  /** Where the probe itself cannot know whether it succeeded. */
  happened?(): boolean | Promise<boolean>;
  /** Stand before the command line that starts the server. */
  before?: readonly string[];
  /** The server is stopped as soon as this file is there, and it is stopped while `happened` looks. */
  stopAt?: string;
}

/** `shared`: the server runs as the worker's own user. */
export type Stopped = Readonly<Record<'own' | 'shared', StoppedFrom>>;

export interface Attack {
  /** `family/what` */
  name: string;
  /** What a reader calls it. */
  title: string;
  /** Of the probe. */
  act: string;
  prepare?(scene: Scene, run: Run): Promise<Prepared> | Prepared;
  stopped: Stopped;
  /** Of the server; absent: none. */
  network?: Network;
  /** Why no level stops it, or what does instead. */
  reason?: string;
  /** It takes so much of the machine that nothing else may run beside it. */
  alone?: true;
}

/** One attempt: its own workspace, and what is undone after it. */
export interface Run {
  workspace: string;
  /** The largest file that it may write. */
  maxFileBytes: number;
  afterwards(undo: () => void | Promise<void>): void;
}

export const claims = (attack: Attack, level: Level, worker: Worker): boolean => {
  const from = attack.stopped[givesUser(worker) ? 'own' : 'shared'];
  return from !== 'never' && levels.indexOf(level) >= levels.indexOf(from);
};

export const both = (level: StoppedFrom) => ({ own: level, shared: level });
/** Another user than the worker's stops it already; without one it takes more. */
export const byUser = (shared: StoppedFrom, own: StoppedFrom = 'process') => ({ own, shared });
