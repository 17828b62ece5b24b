// A task as clients see it: nested and with `ttl` in 2025-11-25, flat and with its result since 2026-07-28. There, a tool's failure is
// a result of a completed task; before, it is a failed task. Pure.
import type { InputRequiredResult } from '@modelcontextprotocol/server';
import type { RunTask } from '#libs/runs/listing/run-tasks.js';
import type { Wait } from '#libs/waits/wait.js';
import { askByResult } from '../ask-client.js';
import { formOf } from '../client-forms.js';

type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** A type, not an interface: results may have members beyond these. */
export type LegacyTask = {
  taskId: string;
  status: TaskStatus;
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  ttl: number;
  pollInterval: number;
};

export type ModernTask = Omit<LegacyTask, 'ttl' | 'pollInterval'> & { ttlMs: number; pollIntervalMs: number };

const pollMs = 1_000;

export const isOver = ({ state }: RunTask): boolean => state !== 'running' && state !== 'interrupted';

function statusOf({ state, callState, waits }: RunTask): TaskStatus {
  switch (state) {
    case 'done':
      return callState === 'completed' ? 'completed' : 'failed';
    case 'failed':
    case 'cancelled':
      return state;
    default:
      return waits ? 'input_required' : 'working';
  }
}

export const toLegacyTask = (task: RunTask, asked: readonly Wait[] = []): LegacyTask => ({
  ...common(task, statusOf(task), asked),
  ttl: task.ttlMs,
  pollInterval: pollMs,
});

/** `asks`: the client can be asked; a task whose client cannot be asked waits as one that works does. */
export function toModernTask(task: RunTask, asked: readonly Wait[] = [], asks = true): ModernTask {
  const status = statusOf(task);
  const shown = task.state === 'done' ? 'completed' : status === 'input_required' && !asks ? 'working' : status;
  return { ...common(task, shown, asked), ttlMs: task.ttlMs, pollIntervalMs: pollMs };
}

function common(task: RunTask, status: TaskStatus, asked: readonly Wait[]) {
  const statusMessage = isOver(task) ? task.failure : asked.map(whatItAsks).join('\n');
  return {
    taskId: task.id,
    status,
    ...(statusMessage === null || statusMessage === '' ? {} : { statusMessage }),
    createdAt: task.createdAt.toISOString(),
    lastUpdatedAt: task.updatedAt.toISOString(),
  };
}

function whatItAsks(wait: Wait): string {
  const { question } = formOf(wait);
  return 'url' in question
    ? `${question.message}: ${question.url}`
    : `${question.message}\nAnswer here, or by POST /api/approvals/${wait.id}`;
}

/** By the ids of the waits, with which the answers come back. */
export function toInputRequests(asked: readonly Wait[]): NonNullable<InputRequiredResult['inputRequests']> {
  return Object.assign({}, ...asked.map((wait) => askByResult(formOf(wait).question).inputRequests));
}
