// The runs that the filters find, as JSON or CSV, page by page from the newest on.
import type { ListedRun, RunFilters } from '@signalbox/client';
import { api } from '../../../api/api.js';

const pageSize = 100;
export const mostExported = 10_000;

export async function readAll(
  filters: RunFilters,
  signal: AbortSignal,
): Promise<{ runs: ListedRun[]; isWhole: boolean }> {
  const runs: ListedRun[] = [];
  let cursor: string | undefined;
  do {
    const page = await api.runs.list({ ...filters, limit: pageSize, cursor, signal });
    runs.push(...page.data);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined && runs.length < mostExported);
  return { runs, isWhole: cursor === undefined };
}

const columns: readonly (readonly [name: string, value: (run: ListedRun) => string | number | null | undefined])[] = [
  ['id', ({ id }) => id],
  ['state', ({ state }) => state],
  ['created_at', (run) => run.created_at],
  ['duration_ms', (run) => run.duration_ms],
  ['model', ({ model }) => model],
  ['principal', ({ principal }) => principal],
  ['session_id', (run) => run.session_id],
  ['rounds', ({ rounds }) => rounds],
  ['calls', ({ calls }) => calls],
  ['tools', ({ tools }) => tools.join(' ')],
  ['prompt_tokens', ({ usage }) => usage.prompt_tokens],
  ['completion_tokens', ({ usage }) => usage.completion_tokens],
  ['cost_usd', (run) => run.cost_usd],
  ['stopped_by', (run) => run.stopped_by],
  ['error', ({ error }) => error?.code],
  ['replay_of', (run) => run.replay_of],
  ['model_ms', (run) => run.spent_ms.model],
  ['queue_ms', (run) => run.spent_ms.queue],
  ['tool_ms', (run) => run.spent_ms.tool],
  ['person_ms', (run) => run.spent_ms.person],
];

export function toCsv(runs: readonly ListedRun[]): string {
  const lines = [columns.map(([name]) => name), ...runs.map((run) => columns.map(([, value]) => value(run)))];
  return lines.map((cells) => `${cells.map(toCell).join(',')}\r\n`).join('');
}

function toCell(value: string | number | null | undefined): string {
  if (typeof value !== 'string') return value === null || value === undefined ? '' : String(value);
  // A spreadsheet would take such a text for a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
