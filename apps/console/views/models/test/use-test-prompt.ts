// A chat of one message from its beginning to its end. Leaving the view, or another message, ends it.
import type { Usage } from '@signalbox/client';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { api } from '../../../api/api.js';
import { healthQuery } from '../health-query.js';

interface Seen {
  text: string;
  firstTokenMs?: number;
  wholeMs?: number;
  usage?: Usage;
  /** The model that the answer names. */
  answeredBy?: string;
}

export type TestState =
  { state: 'idle' } | ({ state: 'running' | 'answered' } & Seen) | { state: 'failed'; error: unknown };

/** A test prompt is short, and an answer that never ends must not fill the page. */
const maxLength = 100_000;

export function useTestPrompt(model: string): { now: TestState; start: (message: string) => void; stop: () => void } {
  const queries = useQueryClient();
  const [now, setNow] = useState<TestState>({ state: 'idle' });
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  function start(message: string): void {
    running.current?.abort();
    const controller = (running.current = new AbortController());
    const { signal } = controller;
    const tell = (next: TestState) => (signal.aborted ? undefined : setNow(next));
    // The report knows why, and what it cost, as soon as the turn has ended.
    const look = () => queries.refetchQueries({ queryKey: healthQuery.queryKey });
    ask(model, message, { signal, tell }).then(
      () => look(),
      async (error: unknown) => {
        if (signal.aborted) return;
        await look();
        tell({ state: 'failed', error });
      },
    );
  }

  return {
    now,
    start,
    stop() {
      running.current?.abort();
      setNow({ state: 'idle' });
    },
  };
}

async function ask(
  model: string,
  content: string,
  { signal, tell }: { signal: AbortSignal; tell: (state: TestState) => void },
): Promise<void> {
  let seen: Seen = { text: '' };
  const startedAt = performance.now();
  const since = () => performance.now() - startedAt;
  tell({ state: 'running', ...seen });
  const events = api.stream({ model, messages: [{ role: 'user', content }] }, { signal, resume: false });
  for await (const event of events) {
    if (event.type === 'content' || event.type === 'reasoning') {
      seen = { firstTokenMs: since(), ...seen };
      if (event.type === 'content') seen.text = (seen.text + event.delta.content).slice(0, maxLength);
      tell({ state: 'running', ...seen });
    } else if (event.type === 'done') {
      seen = { ...seen, wholeMs: since(), usage: event.usage, answeredBy: event.model };
    }
  }
  tell({ state: 'answered', ...seen });
}
