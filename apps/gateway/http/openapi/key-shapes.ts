// The answers of the routes about keys, their budgets, and usage.
import { z } from 'zod';
import { keyStates } from '#libs/access/key-store.js';
import { scopes } from '#libs/schemas/call-context.js';
import { budgetStates } from '#libs/usage/budget-use.js';
import { named } from './open-api-shapes.js';

const text = z.string();
const count = z.int();
const positive = z.int().min(1);
const amount = z.number().min(0);
const globs = z.array(text).optional().describe('`server/tool`, where `*` matches any text');
export const keyMembers = {
  owner: text,
  roles: z.array(text),
  scopes: z.array(z.enum(scopes)),
  tools: z.object({ allow: globs, deny: globs }),
  limits: z.object({ requests_per_minute: positive, tokens_per_minute: positive, turns: positive }).partial(),
  budgets: z.object({ day_usd: amount, month_usd: amount }).partial(),
};
export const shownKey = named('ApiKey', {
  id: text,
  state: z
    .enum(keyStates)
    .describe('`rotating`: replaced, and valid until its grace is over; `expiring`: it ends within a week'),
  prefix: text,
  name: text.nullable(),
  ...keyMembers,
  models: z.array(text).nullable(),
  created_at: text,
  expires_at: text.nullable(),
  last_used_at: text.nullable(),
  revoked_at: text.nullable(),
  replaced_by: text.nullable(),
});
export const shownBudgetUse = named('BudgetUse', {
  limit_usd: amount.nullable().describe('Null: there is no budget'),
  spent_usd: amount,
  forecast_usd: amount.describe('What will have been spent at the end of the day or month (UTC) at its rate so far'),
  state: z.enum(budgetStates),
  runs_out_at: text.nullable().describe('When a budget that `would_run_out` is used up at that rate'),
});
const uses = { day: shownBudgetUse, month: shownBudgetUse };
export const listedKey = shownKey
  .extend({
    spending: z
      .object(uses)
      .describe('With what the keys before it have spent; the budget is its own or the configured one'),
  })
  .meta({ id: 'ListedKey' });
export const keyBudget = named('KeyBudget', {
  key: text.nullable().describe('Null: a caller without a key'),
  principal: text,
  name: text.nullable(),
  prefix: text.nullable(),
  ...uses,
});
export const usageSum = named('UsageSum', {
  requests: count,
  calls: count,
  prompt_tokens: count,
  completion_tokens: count,
  cost_usd: z.number(),
  unpriced_tokens: count.describe('Tokens of models without a price; what they cost is not in `cost_usd`'),
});
export const usageRow = usageSum
  .extend({
    key: text.nullable().optional(),
    key_owner: text.nullable().optional(),
    key_name: text.nullable().optional(),
    principal: text.optional(),
    model: text.nullable().optional(),
    tool: text.nullable().optional(),
    day: text.optional(),
  })
  .meta({ id: 'UsageRow' });
