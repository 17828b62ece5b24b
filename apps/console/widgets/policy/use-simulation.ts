// A simulation from its beginning to its end: what was found so far, and the sums.
import type { SimulatedDraft, SimulationEvent } from '@signalbox/client';
import { useCallback, useEffect, useRef, useState } from 'react';
import { api } from '../../api/api.js';

export type SimulatedCall = Extract<SimulationEvent, { type: 'call' }>;
export type SimulationEnd = Extract<SimulationEvent, { type: 'done' }>;

export interface SimulationState {
  state: 'idle' | 'running' | 'done' | 'failed' | 'cancelled';
  calls: readonly SimulatedCall[];
  /** Calls that were judged so far. */
  judged: number;
  /** From 0 to 1. */
  part: number;
  end?: SimulationEnd;
  error?: unknown;
}

const nothing: SimulationState = { state: 'idle', calls: [], judged: 0, part: 0 };

export function useSimulation() {
  const [now, setNow] = useState(nothing);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  const start = useCallback((draft: SimulatedDraft & { since: string }) => {
    running.current?.abort();
    const controller = (running.current = new AbortController());
    const { signal } = controller;
    const tell = (change: (before: SimulationState) => SimulationState) =>
      signal.aborted ? undefined : setNow(change);
    tell(() => ({ ...nothing, state: 'running' }));
    follow(draft, signal, tell).catch((error: unknown) => tell((before) => ({ ...before, state: 'failed', error })));
  }, []);
  const cancel = useCallback(() => {
    running.current?.abort();
    setNow((before) => ({ ...before, state: 'cancelled' }));
  }, []);
  return { now, start, cancel };
}

async function follow(
  draft: SimulatedDraft & { since: string },
  signal: AbortSignal,
  tell: (change: (before: SimulationState) => SimulationState) => void,
): Promise<void> {
  const until = Date.now();
  const since = Date.parse(draft.since);
  let found: SimulatedCall[] = [];
  for await (const event of api.operations.policy.simulate(draft, { signal })) {
    if (event.type === 'call') found.push(event);
    else {
      const more = found;
      found = [];
      tell((before) => ({
        ...before,
        calls: more.length === 0 ? before.calls : [...before.calls, ...more],
        ...(event.type === 'done'
          ? { state: 'done', end: event, judged: event.calls, part: 1 }
          : { judged: event.calls, part: (until - Date.parse(event.at)) / Math.max(1, until - since) }),
      }));
    }
  }
}
