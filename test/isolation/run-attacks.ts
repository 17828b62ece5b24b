// Runs attacks against one level, each with a workspace of its own: side by side, but for those that take the machine.
import { both, claims, type Attack, type Level, type Run, type Worker } from './attack.js';
import { runProbe } from './run-probe.js';
import type { Scene } from './scene.js';

export interface Verdict {
  attack: Attack;
  outcome: 'stopped' | 'escaped' | 'untried';
  /** What the probe said. */
  detail: string;
  ms: number;
}

export interface AttackOptions {
  scene: Scene;
  level: Level;
  /** The newest version of Landlock to use; absent: that of the kernel. */
  landlock?: number;
  atOnce?: number;
}

const deadlineMs = 20_000;
const maxFileBytes = 64 * 1024 ** 2;

/** What a server may do at every level: without it, that nothing else succeeds would say nothing. */
const control: Attack = { name: 'control/run', title: 'run at all', act: 'run-marker', stopped: both('never') };

/** Every attack is `untried` where no server can be started at the level. */
export async function runAttacks(attacks: readonly Attack[], options: AttackOptions): Promise<Verdict[]> {
  const { outcome, detail, ms } = await runAttack(control, options);
  if (outcome !== 'escaped') {
    return attacks.map((attack) => ({ attack, outcome: 'untried', detail: `no server can be started: ${detail}`, ms }));
  }
  const together = attacks.filter(({ alone }) => alone !== true);
  const verdicts = new Map<Attack, Verdict>();
  const next = together.values();
  const runner = async () => {
    for (const attack of next) verdicts.set(attack, await runAttack(attack, options));
  };
  await Promise.all(Array.from({ length: options.atOnce ?? 4 }, runner));
  for (const attack of attacks) verdicts.set(attack, verdicts.get(attack) ?? (await runAttack(attack, options)));
  return attacks.map((attack) => verdicts.get(attack)!);
}

export async function runAttack(attack: Attack, { scene, level, landlock }: AttackOptions): Promise<Verdict> {
  const began = performance.now();
  const undoing: (() => void | Promise<void>)[] = [];
  const verdict = (outcome: Verdict['outcome'], detail: string) => ({
    attack,
    outcome,
    detail,
    ms: performance.now() - began,
  });
  const { path: workspace, user: serverUser } = scene.workspace(level);
  const run: Run = {
    workspace,
    maxFileBytes,
    afterwards: (undo) => undoing.push(undo),
  };
  try {
    const { args, before = [], happened, stopAt } = (await attack.prepare?.(scene, run)) ?? { args: [] };
    let seen: boolean | undefined;
    const look = async () => {
      seen = await happened?.();
    };
    const { status, stdout } = await runProbe({
      level,
      probe: scene.probe,
      asWorker: [...scene.asWorker, ...before],
      serverUser,
      workspace,
      kept: [scene.place('data'), scene.place('secrets')],
      network: attack.network ?? 'none',
      proxyPort: scene.listeners.proxyPort,
      ...(landlock === undefined ? {} : { landlock }),
      attack: attack.act,
      maxFileBytes,
      args,
      ...(stopAt === undefined ? {} : { pause: { at: stopAt, look } }),
      signal: AbortSignal.timeout(deadlineMs),
    });
    const detail = stdout.trim().replaceAll('\n', '; ') || `ended with ${status ?? 'a signal'}`;
    if (status === 2) return verdict('untried', detail);
    if (stopAt === undefined) await look();
    return verdict((seen ?? status === 0) ? 'escaped' : 'stopped', detail);
  } catch (error) {
    // What cannot be ended has won.
    return verdict('escaped', (error as Error).message);
  } finally {
    for (const undo of undoing.toReversed()) await undo();
  }
}

/** Those that succeeded although the level says that it stops them. */
export const broken = (verdicts: readonly Verdict[], level: Level, worker: Worker): Verdict[] =>
  verdicts.filter(({ attack, outcome }) => outcome === 'escaped' && claims(attack, level, worker));
