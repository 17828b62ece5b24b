// Sends what was decided. The turn goes on by itself, here and wherever else it is shown.
import { type Approval, type Decision, SignalboxError } from '@signalbox/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api } from '../../../api/api.js';
import { notifyFailure } from '../../../widgets/notices.js';

export function useDecision(id: string): { decide: (decision: Decision) => void; isSent: boolean; isSending: boolean } {
  const queries = useQueryClient();
  const { mutate, isPending, isSuccess, error } = useMutation<Approval, Error, Decision>({
    mutationFn: (decision) => api.approvals.decide(id, decision),
    onError: notifyFailure,
    onSettled: () => queries.invalidateQueries({ queryKey: ['approvals'] }),
  });
  // Somebody else was faster.
  const isDecided = error instanceof SignalboxError && error.code === 'approval_already_decided';
  return { decide: mutate, isSent: isSuccess || isDecided, isSending: isPending };
}
