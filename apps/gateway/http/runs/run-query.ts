// Reads what list of runs is requested, and how much of a run. Pure.
import { z } from 'zod';
import { type RunFilter, runStates, textBounds } from '#libs/runs/listing/run-filter.js';
import { AppError } from '#libs/schemas/errors.js';
import type { RunPart } from './show-run.js';

const usualPage = 50;
const maxPage = 100;

const filter = z.string().min(1).max(1_024).optional();
const time = z.iso
  .datetime({ offset: true, local: true, error: 'must be a time such as 2026-11-24T12:00:00Z' })
  .optional();

export const runPageSchema = z.object({
  state: z.enum(runStates, `must be one of ${runStates.join(', ')}`).optional(),
  model: filter,
  principal: filter,
  session: filter,
  tool: filter,
  error: filter,
  text: z.string().min(1).max(textBounds.given).optional(),
  since: time,
  until: time,
  limit: z
    .string()
    .regex(/^\d{1,3}$/, `must be 1 to ${maxPage}`)
    .transform(Number)
    .pipe(z.int().min(1, `must be 1 to ${maxPage}`).max(maxPage, `must be 1 to ${maxPage}`))
    .default(usualPage),
  cursor: z.string().max(64).optional(),
});

type Given = Omit<z.output<typeof runPageSchema>, 'limit' | 'cursor'>;

export const readRunFilter = ({ since, until, ...members }: Given): RunFilter => ({
  ...members,
  since: since === undefined ? undefined : new Date(since),
  until: until === undefined ? undefined : new Date(until),
});

const runParts: readonly RunPart[] = ['rounds', 'calls', 'events'];

/** @throws AppError invalid_value */
export function readRunParts(include: unknown): Set<RunPart> {
  if (include === undefined) return new Set();
  const named = typeof include === 'string' ? include.split(',') : [];
  const parts = new Set(runParts.filter((part) => named.includes(part)));
  if (parts.size > 0 && parts.size === new Set(named).size) return parts;
  throw new AppError('invalid_value', `include must be a list of ${runParts.join(', ')}`, { param: 'include' });
}
