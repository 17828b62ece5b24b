// Sums up what a draft of the policy does to past calls: by kind, by what changes, and by the rule that decides. Pure.
import type { Effect } from './decision.js';
import type { Judgement, PastEffect } from './judge-past-call.js';

export interface ChangeGroup {
  server: string;
  tool: string;
  was: PastEffect;
  now: Effect;
  rule: string;
  calls: number;
}

export interface RuleSum {
  rule: string;
  effect: Effect;
  /** The calls that the rule decides. */
  calls: number;
  /** Those of them that were decided otherwise. */
  changed: number;
}

/** More groups than this are not told apart: their calls are counted all the same. */
const maxGroups = 1_000;

export class Simulation {
  readonly counts = { same: 0, undecided: 0, changed: 0, unknown: 0 };
  private readonly changes = new Map<string, ChangeGroup>();
  private readonly rules = new Map<string, RuleSum>();
  private readonly unknown = new Map<string, { because: string; calls: number }>();

  add({ server, tool }: { server: string | null; tool: string | null }, judged: Judgement): void {
    this.counts[judged.kind] += 1;
    if (judged.kind === 'unknown') {
      const { because } = judged;
      const group = entry(this.unknown, because, () => ({ because, calls: 0 }));
      if (group !== undefined) group.calls += 1;
    }
    if (judged.kind === 'unknown' || judged.kind === 'undecided') return;
    const { now, rule } = judged;
    const sum = entry(this.rules, rule, () => ({ rule, effect: now, calls: 0, changed: 0 }));
    if (sum !== undefined) sum.calls += 1;
    if (judged.kind === 'same') return;
    if (sum !== undefined) sum.changed += 1;
    const { was } = judged;
    const named = { server: server ?? '', tool: tool ?? '' };
    const key = [was, now, rule, named.server, named.tool].join('\n');
    const group = entry(this.changes, key, () => ({ ...named, was, now, rule, calls: 0 }));
    if (group !== undefined) group.calls += 1;
  }

  /** Those with the most calls first. */
  get sums(): { changes: ChangeGroup[]; rules: RuleSum[]; unknown: { because: string; calls: number }[] } {
    const sorted = <Sum extends { calls: number }>(sums: ReadonlyMap<string, Sum>) =>
      [...sums.values()].sort((one, other) => other.calls - one.calls);
    return { changes: sorted(this.changes), rules: sorted(this.rules), unknown: sorted(this.unknown) };
  }
}

function entry<Value>(map: Map<string, Value>, key: string, create: () => Value): Value | undefined {
  const known = map.get(key);
  if (known !== undefined || map.size >= maxGroups) return known;
  const made = create();
  map.set(key, made);
  return made;
}
