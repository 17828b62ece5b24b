// The parts of a run on one axis of time, in the order in which they began. Pure.
import type { RunDetails, ShownCall, ShownRound, WaitOfCall } from '@signalbox/client';

export type PartKind = 'round' | 'model' | 'call' | 'policy' | 'person' | 'sign_in' | 'queue' | 'tool';

export interface TimelinePart {
  /** Also in the address: `round-1`, `tool-call_1`. */
  key: string;
  kind: PartKind;
  depth: number;
  round: ShownRound;
  call?: ShownCall;
  /** A call may wait for several. */
  signIn?: WaitOfCall;
  /** Epoch milliseconds. Absent: it is not known when. */
  span?: Span;
  durationMs: number | null;
}

export interface Span {
  from: number;
  to: number;
}

export interface Timeline {
  parts: TimelinePart[];
  axis: Span;
}

export function timelineOf({ created_at: createdAt, duration_ms: duration, ...run }: RunDetails): Timeline {
  const { round_list: rounds = [], call_list: calls = [] } = run;
  const from = Date.parse(createdAt);
  const now = from + duration;
  const parts = rounds.flatMap((round) => {
    const own = calls.filter((call) => call.round === round.round);
    return partsOfRound(round, own, now);
  });
  const ends = parts.flatMap(({ span }) => (span === undefined ? [] : [span.to]));
  const begins = parts.flatMap(({ span }) => (span === undefined ? [] : [span.from]));
  return { parts, axis: { from: Math.min(from, ...begins), to: Math.max(now, ...ends, from + 1) } };
}

function partsOfRound(round: ShownRound, calls: readonly ShownCall[], now: number): TimelinePart[] {
  const model = spanOf(round.started_at, round.ended_at, now);
  const ofCalls = calls.flatMap((call) => partsOfCall(round, call, now));
  const to = Math.max(model.to, ...ofCalls.flatMap(({ span }) => (span === undefined ? [] : [span.to])));
  const whole = { from: model.from, to };
  return [
    { key: `round-${round.round}`, kind: 'round', depth: 0, round, span: whole, durationMs: whole.to - whole.from },
    { key: `model-${round.round}`, kind: 'model', depth: 1, round, span: model, durationMs: model.to - model.from },
    ...ofCalls,
  ];
}

function partsOfCall(round: ShownRound, call: ShownCall, now: number): TimelinePart[] {
  const planned = Date.parse(call.planned_at);
  const end = call.ended_at === null ? now : Date.parse(call.ended_at);
  const begun = call.started_at === null ? undefined : Date.parse(call.started_at);
  const part = (kind: PartKind, durationMs: number | null, span?: Span): TimelinePart => ({
    key: `${kind}-${call.id}`,
    kind,
    depth: kind === 'call' ? 1 : 2,
    round,
    call,
    durationMs,
    ...(span === undefined ? {} : { span }),
  });
  const parts = [part('call', Math.max(0, end - planned), { from: planned, to: Math.max(planned, end) })];
  if (call.policy !== null) parts.push(part('policy', null, { from: planned, to: planned }));
  const wait =
    call.approval === null
      ? undefined
      : spanOf(call.approval.created_at, call.approval.decided_at ?? call.ended_at, end);
  const signIns = (call.sign_ins ?? []).map((signIn) => {
    const span = spanOf(signIn.created_at, signIn.decided_at ?? call.ended_at, end);
    const own = { key: `sign_in-${signIn.id}`, signIn };
    return { ...part('sign_in', span.to - span.from, span), ...own };
  });
  const otherMs = call.person_wait_ms - signIns.reduce((total, { durationMs }) => total + (durationMs ?? 0), 0);
  if (call.approval !== null || call.questions > 0) parts.push(part('person', Math.max(0, otherMs), wait));
  parts.push(...signIns);
  if (call.queue_wait_ms !== null) {
    const to = begun ?? end;
    parts.push(part('queue', call.queue_wait_ms, { from: Math.max(planned, to - call.queue_wait_ms), to }));
  }
  if (begun !== undefined || call.duration_ms !== null) {
    const from = begun ?? Math.max(planned, end - (call.duration_ms ?? 0));
    parts.push(part('tool', call.duration_ms, { from, to: Math.max(from, end) }));
  }
  return parts;
}

function spanOf(from: string, to: string | null, now: number): Span {
  const begin = Date.parse(from);
  return { from: begin, to: Math.max(begin, to === null ? now : Date.parse(to)) };
}
