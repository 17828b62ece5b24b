// Reads which keys, usage and budgets are requested. Pure.
import { z } from 'zod';
import { type KeyFilter, type KeyState, keyStates } from '#libs/access/key-store.js';
import { scopes } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { type BudgetsQuery, type UsageGroup, usageGroups, type UsageQuery } from '#libs/usage/usage-store.js';

const filter = z.string().min(1).max(1_024).optional();
const listOf = (names: readonly string[]) => {
  const one = `(?:${names.join('|')})`;
  return z
    .string()
    .regex(new RegExp(`^${one}(?:,${one})*$`), `must be a list of ${names.join(', ')}`)
    .optional();
};

export const keysQuerySchema = z.object({
  state: listOf(keyStates),
  owner: filter,
  scope: z.enum(scopes, `must be one of ${scopes.join(', ')}`).optional(),
  text: filter,
  limit: z.string().optional(),
  after: z.string().optional(),
});

export const keyFilterOf = ({ state, owner, scope, text }: z.output<typeof keysQuerySchema>): KeyFilter => ({
  states: state?.split(',') as KeyState[] | undefined,
  owner,
  scope,
  text,
});

const day = z
  .union([z.iso.date(), z.iso.datetime({ offset: true, local: true })], { error: 'must be a date or a time' })
  .optional();

export const usageQuerySchema = z.object({
  by: listOf(usageGroups),
  since: day,
  until: day,
  key: filter,
  principal: filter,
  model: filter,
  tool: filter,
  format: z.enum(['json', 'csv'], 'must be json or csv').default('json'),
});

export const usageQueryOf = ({ by, since, until, key, principal, model, tool }: z.output<typeof usageQuerySchema>) =>
  ({
    by: (by?.split(',') ?? []) as UsageGroup[],
    since: since === undefined ? undefined : new Date(since),
    until: until === undefined ? undefined : new Date(until),
    key,
    principal,
    model,
    tool,
  }) satisfies UsageQuery;

export const budgetsQuerySchema = z.object({ limit: z.string().optional(), cursor: z.string().max(1_024).optional() });

/** @throws AppError invalid_value for a cursor that no page gave */
export function readBudgetsCursor(cursor: string | undefined): BudgetsQuery['after'] {
  if (cursor === undefined) return undefined;
  const [, share, id] = /^(\d[\d.e+-]{0,30})~(.+)$/s.exec(cursor) ?? [];
  if (id !== undefined && Number.isFinite(Number(share))) return { share: Number(share), id };
  throw new AppError('invalid_value', 'cursor must be the next_cursor of a page', { param: 'cursor' });
}

export const budgetsCursorOf = (share: number, id: string): string => `${share}~${id}`;
