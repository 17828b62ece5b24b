// What the model calls of this gateway show about its providers: how many failed and why, how long they took, the last failure, the
// state of the circuit, and which fallbacks were taken. In memory, of this process: bounded by the configuration.
import type { CircuitState } from '#libs/concurrency/circuit-breaker.js';
import type { AppError } from '#libs/schemas/errors.js';
import { countLatency, percentileOf, sumLatencies } from '#libs/usage/latency-steps.js';
import type { EndedCandidate } from './model-attempt.js';

export interface CallFigures {
  calls: number;
  failed: number;
  /** How many failed with each code, the most frequent first. */
  errors: { code: string; count: number }[];
  /** Times of calls that were answered; undefined without any. */
  p50Ms: number | undefined;
  p95Ms: number | undefined;
  /** The same until the first part of a streamed answer. */
  firstPartP50Ms: number | undefined;
  firstPartP95Ms: number | undefined;
}

export interface LastFailure {
  at: Date;
  model: string;
  code: string;
  /** The sentence that the caller was told, which has no secret. */
  message: string;
  upstreamStatus: number | undefined;
}

export interface ProviderHistory {
  lastHour: CallFigures;
  lastDay: CallFigures;
  /** The last 24 hours, the present one last. */
  hours: { hour: Date; figures: CallFigures }[];
  lastFailure: LastFailure | undefined;
  circuit: { state: CircuitState; since: Date } | undefined;
}

export interface TakenFallback {
  from: string;
  to: string;
  count: number;
  lastAt: Date;
  code: string;
  message: string;
}

interface Slot {
  calls: number;
  failures: Map<string, number>;
  latencies: number[];
  firstParts: number[];
}

interface KnownProvider {
  /** By the number of the slot since the epoch; only those with calls. */
  slots: Map<number, Slot>;
  lastFailure: LastFailure | undefined;
  circuit: ProviderHistory['circuit'];
}

const slotMs = 300_000;
const hourMs = 3_600_000;
const slotsOfHour = hourMs / slotMs;
const shownHours = 24;
/** An open circuit repeats the failure that opened it, and nobody was asked. */
const notAsked = 'model_unavailable';

export class CallHistory {
  readonly since: Date;
  private readonly providers = new Map<string, KnownProvider>();
  /** By both names: only lists of the configuration have fallbacks. */
  private readonly taken = new Map<string, TakenFallback>();

  /** `now`: the clock of this machine, ms. */
  constructor(private readonly now: () => number = Date.now) {
    this.since = new Date(now());
  }

  ended({ provider, model, error, isCancelled, tookMs, firstPartMs }: EndedCandidate): void {
    if (isCancelled) return;
    const known = this.knownOf(provider);
    const slot = this.presentSlot(known);
    slot.calls += 1;
    if (error === undefined) countLatency(slot.latencies, tookMs);
    if (firstPartMs !== undefined) countLatency(slot.firstParts, firstPartMs);
    if (error === undefined) return;
    const { code, message, upstreamStatus } = error;
    slot.failures.set(code, (slot.failures.get(code) ?? 0) + 1);
    if (code === notAsked) return;
    known.lastFailure = { at: new Date(this.now()), model, code, message, upstreamStatus };
  }

  fallback(from: string, to: string, { code, message }: AppError): void {
    const key = `${from}\n${to}`;
    const count = (this.taken.get(key)?.count ?? 0) + 1;
    this.taken.set(key, { from, to, count, lastAt: new Date(this.now()), code, message });
  }

  circuit(provider: string, state: CircuitState): void {
    this.knownOf(provider).circuit = { state, since: new Date(this.now()) };
  }

  of(provider: string): ProviderHistory {
    const { slots, lastFailure, circuit } = this.knownOf(provider);
    const present = Math.floor(this.now() / slotMs);
    const between = (first: number, last: number) =>
      figuresOf([...slots].flatMap(([number, slot]) => (number >= first && number <= last ? slot : [])));
    const hour = Math.floor(this.now() / hourMs);
    return {
      lastHour: between(present - slotsOfHour + 1, present),
      lastDay: between(present - shownHours * slotsOfHour + 1, present),
      hours: Array.from({ length: shownHours }, (_, index) => {
        const each = hour - shownHours + 1 + index;
        const figures = between(each * slotsOfHour, (each + 1) * slotsOfHour - 1);
        return { hour: new Date(each * hourMs), figures };
      }),
      lastFailure,
      circuit,
    };
  }

  /** The fallbacks between the neighbours of a list. */
  fallbacks(targets: readonly string[]): TakenFallback[] {
    return targets.slice(1).flatMap((to, index) => this.taken.get(`${targets[index]}\n${to}`) ?? []);
  }

  private knownOf(provider: string): KnownProvider {
    let known = this.providers.get(provider);
    if (known === undefined) {
      known = { slots: new Map(), lastFailure: undefined, circuit: undefined };
      this.providers.set(provider, known);
    }
    return known;
  }

  private presentSlot({ slots }: KnownProvider): Slot {
    const present = Math.floor(this.now() / slotMs);
    let slot = slots.get(present);
    if (slot === undefined) {
      // The hour that has begun is shown beside 23 whole ones.
      for (const number of slots.keys()) if (number <= present - shownHours * slotsOfHour) slots.delete(number);
      slot = { calls: 0, failures: new Map(), latencies: [], firstParts: [] };
      slots.set(present, slot);
    }
    return slot;
  }
}

function figuresOf(slots: readonly Slot[]): CallFigures {
  const errors = new Map<string, number>();
  for (const { failures } of slots)
    for (const [code, count] of failures) errors.set(code, (errors.get(code) ?? 0) + count);
  const latencies = sumLatencies(slots.map((slot) => slot.latencies));
  const firstParts = sumLatencies(slots.map((slot) => slot.firstParts));
  return {
    calls: slots.reduce((sum, { calls }) => sum + calls, 0),
    failed: [...errors.values()].reduce((sum, count) => sum + count, 0),
    errors: [...errors].map(([code, count]) => ({ code, count })).sort((one, other) => other.count - one.count),
    p50Ms: percentileOf(latencies, 0.5),
    p95Ms: percentileOf(latencies, 0.95),
    firstPartP50Ms: percentileOf(firstParts, 0.5),
    firstPartP95Ms: percentileOf(firstParts, 0.95),
  };
}
