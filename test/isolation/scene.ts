// What a hostile tool server finds around it: the directories of a worker as they are, its secrets, listeners of this
// machine, and processes that stand for the worker and for another server. Everything is removed by `close`.
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { toolUser } from '#libs/workspace/own-directory.js';
import { givesUser, type Level, type Run, type Worker } from './attack.js';
import { openListeners, type Listeners } from './listeners.js';
import { startVictim, type Victim } from './victim.js';

export type Place = 'session' | 'sessions' | 'data' | 'secrets' | 'package' | '/tmp' | '/dev/shm' | '/etc';

/** A file of somebody else. */
export interface OtherFile {
  path: string;
  directory: string;
  name: string;
  secret: string;
}

export interface SceneOptions {
  worker: Worker;
  /** The program of the attacks. */
  probe: string;
}

/** The user of a worker that is not root, where this process is root. */
const ordinaryUser = 1000;
const isRoot = process.getuid?.() === 0;

export class Scene {
  readonly directory: string;
  private readonly above: string;
  private readonly victims = new Set<Victim>();
  private opened?: Listeners;
  private nextKey = 0x5000_0000 + (process.pid % 0xffff) * 0x100;

  private constructor(private readonly options: SceneOptions) {
    this.above = mkdtempSync(join(existsSync('/var/tmp') ? '/var/tmp' : tmpdir(), 'signalbox-isolation-'));
    chmodSync(this.above, options.worker === 'hidden-root' ? 0o700 : 0o755);
    this.directory = join(this.above, 'scene');
    mkdirSync(this.directory);
    const passable = givesUser(options.worker) ? 0o711 : 0o700;
    this.make('data', passable);
    this.make('data/workspaces', passable);
    this.make('data/workspaces/other-session', 0o700, this.serverUser);
    this.make('secrets', 0o755);
    this.make('package', 0o755);
    this.make('run', 0o755);
    copyFileSync(options.probe, this.probe);
    chmodSync(this.probe, 0o755);
    if (!isRoot) return;
    this.make('set-uid', 0o755, 0);
    copyFileSync(options.probe, this.setUidProbe);
    chmodSync(this.setUidProbe, 0o4755);
  }

  static async open(options: SceneOptions): Promise<Scene> {
    const scene = new Scene(options);
    scene.opened = await openListeners(scene.probe, scene.place('run'));
    return scene;
  }

  get listeners(): Listeners {
    return this.opened!;
  }
  get probe(): string {
    return join(this.directory, 'package/probe');
  }
  get setUidProbe(): string {
    return join(this.directory, 'set-uid/probe');
  }
  get worker(): Worker {
    return this.options.worker;
  }
  /** Of the worker; undefined: that of this process. */
  get workerUser(): number | undefined {
    return isRoot && this.worker === 'user' ? ordinaryUser : undefined;
  }
  /** Stand before a command, so that it is started as the worker would. */
  get asWorker(): readonly string[] {
    if (this.worker === 'bare-root') return ['setpriv', '--bounding-set=-all', '--inh-caps=-all', '--'];
    return this.workerUser === undefined ? [] : this.as(this.workerUser);
  }

  place(place: Place | 'run'): string {
    if (place.startsWith('/')) return place;
    if (place === 'session') return join(this.directory, 'data/workspaces/other-session');
    if (place === 'sessions') return join(this.directory, 'data/workspaces');
    return join(this.directory, place);
  }

  /** A new file there, with a secret of its own. */
  file(place: Place, run: Run): OtherFile {
    const directory = this.place(place);
    const name = `other-${randomBytes(8).toString('hex')}`;
    const path = join(directory, name);
    const secret = randomBytes(16).toString('hex');
    writeFileSync(path, secret, { mode: 0o600 });
    this.give(path, place === 'session' ? this.serverUser : this.workerUser);
    run.afterwards(() => rmSync(path, { force: true, recursive: true }));
    return { path, directory, name, secret };
  }

  /** A new directory of the worker, itself the target. */
  directoryAt(path: string, run: Run): OtherFile {
    mkdirSync(path, { mode: 0o700 });
    this.give(path, this.workerUser);
    run.afterwards(() => rmSync(path, { recursive: true, force: true }));
    return { path, directory: dirname(path), name: basename(path), secret: '' };
  }

  /** A directory for one attempt, made as the worker makes them: as root for the user of its servers. */
  workspace(level: Level): { path: string; user: number | undefined } {
    const name = randomBytes(16).toString('hex');
    const user = level === 'none' ? this.workerUser : this.serverUser;
    const path = this.make(`data/workspaces/${name}`, 0o700, user);
    this.make(`data/workspaces/${name}/.tmp`, 0o700, user);
    return { path, user: user === this.workerUser ? undefined : user };
  }

  async victim(kind: 'worker' | 'server', run: Run, shares = false): Promise<Victim> {
    const { path, secret } = this.file('secrets', run);
    const user = kind === 'worker' ? undefined : this.serverUser;
    if (kind === 'server') this.give(path, user);
    const as = user === undefined ? this.asWorker : this.as(user);
    const busy = join(this.place(kind === 'worker' ? 'data' : 'session'), `busy-${randomBytes(4).toString('hex')}`);
    run.afterwards(() => rmSync(busy, { force: true }));
    const key = shares ? this.nextKey++ : undefined;
    const victim = await startVictim({ probe: this.probe, as, secretFile: path, secret, busy, key });
    this.victims.add(victim);
    run.afterwards(() => victim.end());
    return victim;
  }

  async close(): Promise<void> {
    await Promise.all([...this.victims].map((victim) => victim.end()));
    await this.opened?.close();
    rmSync(this.above, { recursive: true, force: true });
  }

  /** Of all servers. */
  private get serverUser(): number | undefined {
    return isRoot && givesUser(this.worker) ? toolUser : this.workerUser;
  }

  private as(user: number): string[] {
    const words = ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
    const right = '+dac_read_search';
    if (this.worker !== 'hidden-root') return [...words, '--inh-caps=-all', '--'];
    return [...words, '--securebits=+no_setuid_fixup', `--inh-caps=${right}`, `--ambient-caps=${right}`, '--'];
  }

  private make(name: string, mode: number, user = this.workerUser): string {
    const path = join(this.directory, name);
    mkdirSync(path, { mode });
    chmodSync(path, mode);
    this.give(path, user);
    return path;
  }

  private give(path: string, user: number | undefined): void {
    if (user !== undefined) chownSync(path, user, user);
  }
}

export const contentOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};
