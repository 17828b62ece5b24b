// A run as one file, which the page writes and opens again without the gateway. Whatever a file says is checked before it is shown.
import type { RunDetails } from '@signalbox/client';
import { ExternalValue } from '../../../api/external-value.js';
import { saveFile } from '../../../widgets/save-file.js';

const format = 1;
export const mostBytes = 64 * 1024 * 1024;

export function saveRun(run: RunDetails): void {
  const text = JSON.stringify({ signalbox_run: format, saved_at: new Date().toISOString(), run }, null, 1);
  saveFile(`${run.id}.json`, text);
}

/** How many are kept: two can be compared. */
const mostOpened = 2;

/** The runs of the files that were opened last in this tab. */
export const openedRuns = new ExternalValue<readonly RunDetails[]>([]);

export const keepRun = (run: RunDetails): void =>
  openedRuns.set([run, ...openedRuns.get().filter(({ id }) => id !== run.id)].slice(0, mostOpened));

export type Fault = { kind: 'size' | 'json' | 'run' | 'newer' } | { kind: 'part'; place: string };

export async function readRunFile(file: File): Promise<{ run: RunDetails } | { fault: Fault }> {
  if (file.size > mostBytes) return { fault: { kind: 'size' } };
  let content: unknown;
  try {
    content = JSON.parse(await file.text());
  } catch {
    return { fault: { kind: 'json' } };
  }
  if (!isObject(content) || typeof content['signalbox_run'] !== 'number') return { fault: { kind: 'run' } };
  if (content['signalbox_run'] > format) return { fault: { kind: 'newer' } };
  const place = faultOf(content['run'], runShape, 'run');
  return place === undefined ? { run: content['run'] as RunDetails } : { fault: { kind: 'part', place } };
}

/** What the page reads of a run. `?`: it may be missing or null. */
type Shape = 'text' | 'text?' | 'figure' | 'figure?' | 'truth' | 'object' | 'time' | 'time?' | Members | ListOf | Maybe;
interface Members {
  members: Readonly<Record<string, Shape>>;
}
interface ListOf {
  list: Shape;
}
interface Maybe {
  maybe: Shape;
}

const usage: Shape = { members: { prompt_tokens: 'figure', completion_tokens: 'figure', total_tokens: 'figure' } };

const roundShape: Shape = {
  members: {
    round: 'figure',
    provider: 'text',
    model: 'text',
    sent: 'figure',
    message: 'object',
    finish_reason: 'text',
    usage,
    cost_usd: 'figure?',
    started_at: 'time',
    ended_at: 'time',
  },
};

const waitMembers: Record<string, Shape> = {
  id: 'text',
  state: 'text',
  decided_by: 'text?',
  decision_reason: 'text?',
  created_at: 'time',
  expires_at: 'time',
  decided_at: 'time?',
};

const callShape: Shape = {
  members: {
    id: 'text',
    round: 'figure',
    kind: 'text',
    name: 'text',
    server: 'text',
    tool: 'text',
    state: 'text',
    arguments: 'object',
    result: { maybe: { members: { success: 'truth', content: 'text', duration_ms: 'figure' } } },
    policy: { maybe: { members: { verdict: 'text', rule: 'text?' } } },
    approval: { maybe: { members: { ...waitMembers, reason: 'text?' } } },
    sign_ins: { maybe: { list: { members: waitMembers } } },
    questions: 'figure',
    person_wait_ms: 'figure',
    queue_wait_ms: 'figure?',
    duration_ms: 'figure?',
    attempts: 'figure',
    worker: 'text?',
    isolation: 'text?',
    cached: 'truth',
    truncated: 'truth',
    planned_at: 'time',
    started_at: 'time?',
    ended_at: 'time?',
    audit_id: 'text?',
    replayed: 'text?',
  },
};

const runShape: Shape = {
  members: {
    id: 'text',
    state: 'text',
    created_at: 'time',
    duration_ms: 'figure',
    model: 'text?',
    principal: 'text',
    session_id: 'text?',
    rounds: 'figure',
    calls: 'figure',
    tools: { list: 'text' },
    usage,
    cost_usd: 'figure?',
    stopped_by: 'text?',
    replay_of: 'text?',
    error: { maybe: { members: { code: 'text', message: 'text' } } },
    spent_ms: { members: { model: 'figure', queue: 'figure', tool: 'figure', person: 'figure' } },
    messages: { list: 'object' },
    round_list: { list: roundShape },
    call_list: { list: callShape },
    event_list: { list: { members: { n: 'figure', type: 'text' } } },
  },
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The first place that has another shape. */
function faultOf(value: unknown, shape: Shape, place: string): string | undefined {
  if (typeof shape === 'string') return fits(value, shape) ? undefined : place;
  if ('maybe' in shape) return value === undefined || value === null ? undefined : faultOf(value, shape.maybe, place);
  if ('list' in shape) {
    if (!Array.isArray(value)) return place;
    for (const [index, entry] of value.entries()) {
      const fault = faultOf(entry, shape.list, `${place}[${index}]`);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
  if (!isObject(value)) return place;
  for (const [name, member] of Object.entries(shape.members)) {
    const fault = faultOf(value[name], member, `${place}.${name}`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function fits(value: unknown, shape: Extract<Shape, string>): boolean {
  if (shape.endsWith('?') && (value === undefined || value === null)) return true;
  switch (shape) {
    case 'text':
    case 'text?':
      return typeof value === 'string';
    case 'figure':
    case 'figure?':
      return typeof value === 'number';
    case 'truth':
      return typeof value === 'boolean';
    case 'object':
      return isObject(value);
    case 'time':
    case 'time?':
      return typeof value === 'string' && !Number.isNaN(Date.parse(value));
  }
}
