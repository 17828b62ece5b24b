// What the time of a run went to: models, the queue, tools, and people. Pure.

export interface SpentTime {
  model: number;
  queue: number;
  tool: number;
  person: number;
}

export interface TimedRound {
  round: number;
  startedAt: Date;
  /** When the model's answer was stored. */
  createdAt: Date;
}

export interface TimedCall {
  id: string;
  round: number | null;
  kind: string;
  plannedAt: Date;
  dispatchedAt: Date | null;
  endedAt: Date | null;
}

/** Something that a call waited for: a person's decision or answer. */
export interface TimedWait {
  callId: string;
  createdAt: Date;
  decidedAt: Date | null;
  expiresAt: Date;
}

export interface TimedRun {
  createdAt: Date;
  endedAt: Date | null;
  now: Date;
}

/** Where the time of one call went, until it ended or until `until`. */
export function spentByCall(call: TimedCall, waits: readonly TimedWait[], until: Date): Omit<SpentTime, 'model'> {
  const end = call.endedAt ?? until;
  const own = waits.filter(({ callId }) => callId === call.id);
  const waited = own.map((wait) => ({
    from: +wait.createdAt,
    to: Math.min(+(wait.decidedAt ?? wait.expiresAt), +end),
  }));
  const sum = (from: number, to: number) =>
    waited.reduce((total, wait) => total + Math.max(0, Math.min(wait.to, to) - Math.max(wait.from, from)), 0);
  const person = sum(-Infinity, +end);
  // A call that was never taken by a worker, such as one from the cache, has no time in the queue if it ended.
  const begun = call.dispatchedAt ?? (call.endedAt === null ? end : call.plannedAt);
  const queue = Math.max(0, +begun - +call.plannedAt - sum(+call.plannedAt, +begun));
  const tool = Math.max(0, +end - +begun - sum(+begun, +end));
  return { queue, tool, person };
}

/** The calls of a round run side by side: the one that ends last is what the turn waited for. */
export function spentByRun(
  run: TimedRun,
  rounds: readonly TimedRound[],
  calls: readonly TimedCall[],
  waits: readonly TimedWait[],
): SpentTime {
  const until = run.endedAt ?? run.now;
  const spent: SpentTime = { model: 0, queue: 0, tool: 0, person: 0 };
  for (const { round, startedAt, createdAt } of rounds) {
    spent.model += Math.max(0, Math.min(+createdAt, +until) - Math.max(+startedAt, +run.createdAt));
    const own = calls.filter((call) => call.round === round && call.kind === 'server');
    const endOf = ({ endedAt }: TimedCall) => Math.min(+(endedAt ?? until), +until);
    const last = own.reduce<TimedCall | undefined>(
      (latest, call) => (latest === undefined || endOf(call) > endOf(latest) ? call : latest),
      undefined,
    );
    if (last === undefined) continue;
    // A call that waits on after its turn costs the turn nothing more.
    const within = last.endedAt !== null && last.endedAt > until ? { ...last, endedAt: null } : last;
    const { queue, tool, person } = spentByCall(within, waits, until);
    spent.queue += queue;
    spent.tool += tool;
    spent.person += person;
  }
  return spent;
}
