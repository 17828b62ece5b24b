// A call of a tool from its beginning to its result. If it needs an approval, it is asked for again, with the same key, when somebody
// has decided.
import type {
  Approval,
  RequiredApproval,
  RequiredSignIn,
  ToolCallBody,
  ToolCallEvent,
  ToolResult,
} from '@signalbox/client';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { api } from '../../../api/api.js';

export type CallState =
  | { state: 'idle' }
  | {
      state: 'running';
      progress?: Extract<ToolCallEvent, { type: 'tool_progress' }>;
      question?: RequiredApproval;
      signIn?: RequiredSignIn;
    }
  | { state: 'waiting'; approval: Approval }
  | { state: 'refused'; approval: Approval }
  | { state: 'ended'; result: ToolResult }
  | { state: 'failed'; error: unknown };

const lookMs = 2_000;

export function useToolCall(): { now: CallState; start: (call: ToolCallBody) => void; stop: () => void } {
  const queries = useQueryClient();
  const [now, setNow] = useState<CallState>({ state: 'idle' });
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  function start(call: ToolCallBody): void {
    running.current?.abort();
    const controller = (running.current = new AbortController());
    const { signal } = controller;
    const tell = (next: CallState) => (signal.aborted ? undefined : setNow(next));
    run(call, signal, tell).then(
      () => void queries.invalidateQueries({ queryKey: ['sessions'] }),
      (error: unknown) => tell({ state: 'failed', error }),
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

async function run(call: ToolCallBody, signal: AbortSignal, tell: (state: CallState) => void): Promise<void> {
  let idempotencyKey: string | undefined;
  for (;;) {
    tell({ state: 'running' });
    const onEvent = (event: ToolCallEvent) => {
      if (event.type === 'approval_required') tell({ state: 'running', question: event.approval });
      else if (event.type === 'sign_in_required') tell({ state: 'running', signIn: event.sign_in });
      // It follows the event that says what is waited for.
      else if (event.status !== 'waiting_approval') tell({ state: 'running', progress: event });
    };
    const answer = await api.tools.callWithProgress(call, onEvent, {
      signal,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
    if (!('idempotencyKey' in answer)) return tell({ state: 'ended', result: answer });
    idempotencyKey = answer.idempotencyKey;
    const approval = 'approval' in answer ? answer.approval : await api.approvals.get(answer.sign_in.id, { signal });
    tell({ state: 'waiting', approval });
    const decided = await decision(approval, signal);
    if (decided.state !== 'approved') return tell({ state: 'refused', approval: decided });
  }
}

async function decision({ id }: Approval, signal: AbortSignal): Promise<Approval> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, lookMs));
    signal.throwIfAborted();
    const approval = await api.approvals.get(id, { signal });
    if (approval.state !== 'waiting') return approval;
  }
}
