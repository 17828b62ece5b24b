// The answers of the routes that say how the gateway is and who asks: the overview, the workers, the caller.
import { z } from 'zod';
import { scopes } from '#libs/schemas/call-context.js';
import { named, toolServerReport } from './open-api-shapes.js';

const text = z.string();
const count = z.int();
const ms = z.number();
const time = text.meta({ format: 'date-time' });

export const problem = z
  .looseObject({
    code: text.describe('What is wrong; further members say where'),
    severity: z.enum(['error', 'warning']),
    message: text.describe('The same as a sentence'),
  })
  .meta({ id: 'Problem' });

export const overviewHour = named('OverviewHour', {
  hour: time.describe('When the hour began'),
  requests: count,
  p95_ms: ms.nullable().describe('95 of 100 turns took at most this long, to within a fifth; null without turns'),
  tool_calls: count,
  tool_failures: count,
  cost_usd: z.number(),
});

export const overview = named('Overview', {
  at: time,
  everybody: z.boolean().describe('False: of the caller alone'),
  waiting: z.object({
    approvals: count,
    sign_ins: count.describe('Calls that wait until their caller has signed in at a tool server'),
    questions: count,
    tool_changes: count.nullable().describe('Null unless the caller is an administrator, as the members below'),
  }),
  problems: z.array(problem),
  running_turns: count,
  queue: z.object({ waiting: count, active: count, oldest_age_ms: ms }).nullable(),
  workers: z.object({ ready: count, draining: count, gone: count }).nullable(),
  hours: z.array(overviewHour).describe('The last 24 hours, oldest first, the present one last'),
});

export const worker = named('ShownWorker', {
  id: text,
  state: z.enum(['ready', 'draining', 'gone']).describe('`gone`: it stopped without saying so'),
  started_at: time,
  seen_ms_ago: ms,
  isolation: z.array(text).describe('The levels of its tool servers'),
  servers: z.array(toolServerReport),
});

export const me = named('Me', {
  signed_in: z.enum(['open', 'key', 'jwt']).nullable().describe('`open`: this gateway needs no key'),
  principal: text.nullable(),
  key: z.object({ id: text, name: text.nullable() }).nullable(),
  scopes: z.array(z.enum(scopes)),
  sign_in: z
    .object({
      open: z.boolean().describe('No request needs a key'),
      keys: z.boolean().describe('API keys are accepted'),
      oidc: z.object({ issuer: text, client_id: text }).optional().describe('Where a browser can sign in'),
    })
    .describe('How one can sign in'),
});
