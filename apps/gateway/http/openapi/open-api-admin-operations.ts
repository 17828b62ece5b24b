// Descriptions of the routes for administrators: keys, approvals, usage, the audit.
import { z } from 'zod';
import { waitStates } from '#libs/waits/wait.js';
import { keyStates } from '#libs/access/key-store.js';
import { scopes } from '#libs/schemas/call-context.js';
import { auditFormats } from '#libs/audit/export-audit.js';
import { defaultAuditPage, maxAuditPage } from '../admin/audit.dto.js';
import { keyBudget, keyMembers, listedKey, shownKey, usageRow, usageSum } from './key-shapes.js';
import { auditProof, auditRow } from './audit-shapes.js';
import { type DescribedOperation, json, pageLimit, sse } from './described-operation.js';
import { anything, approval } from './open-api-shapes.js';

const text = z.string();
const made = json(shownKey.extend({ key: text.describe('The key itself; only in this answer') }));
const pageOf = (item: z.ZodType) => json(z.object({ data: z.array(item), has_more: z.boolean() }));
const filter = {
  since: text.describe('Rows from this time on, ISO 8601'),
  until: text.describe('Rows before this time, ISO 8601'),
  session: text,
  principal: text,
  tool: text.describe('`server/tool`, or a tool name on any server'),
  outcome: text.describe('`success`, `failure`, a state such as `denied`, or an error code'),
  rule: text.describe('The rule of the policy that decided the call, or `default:…` as the audit has it'),
  kind: text.describe('`tool_call`, `approval`, …'),
  run: text,
  text: text.describe('Text anywhere in the row, upper or lower case'),
};

export const adminOperations: Readonly<Record<string, DescribedOperation>> = {
  'POST /api/keys': {
    summary: 'Makes an API key; for administrators',
    body: z
      .object({ ...keyMembers, name: text, models: z.array(text), expires_at: text })
      .partial()
      .required({ owner: true, scopes: true }),
    answers: { 201: made },
  },
  'GET /api/keys': {
    summary: 'The API keys, newest first; for administrators',
    query: {
      state: text.describe(
        `One or more of ${keyStates.map((state) => `\`${state}\``).join(', ')}, separated by commas`,
      ),
      owner: text,
      scope: z.enum(scopes),
      text: text.describe('Text in the id, the prefix, the owner or the name, upper or lower case'),
      limit: pageLimit(1_000, 100),
      after: text.describe('`id` of the last key of the previous page'),
    },
    answers: { 200: pageOf(listedKey) },
  },
  'GET /api/keys/{id}': { summary: 'One API key; for administrators', answers: { 200: json(listedKey) } },
  'POST /api/keys/{id}/rotate': {
    summary:
      'Replaces a key with a new one of the same owner; the old one works for `grace_s` more seconds; for administrators',
    body: z.object({ grace_s: z.int() }).partial(),
    answers: { 201: made },
  },
  'DELETE /api/keys/{id}': { summary: 'Revokes a key; for administrators', answers: { 200: json(shownKey) } },
  'GET /api/approvals': {
    summary: 'Calls that wait, or waited, for an approval, newest first',
    query: {
      state: text.describe(
        `One or more of ${waitStates.map((state) => `\`${state}\``).join(', ')}, separated by commas`,
      ),
      tool: text.describe('The name that was called'),
      principal: text.describe('Who asks; of use to those who decide for others'),
      order: z.enum(['asc', 'desc']).describe('`asc`: oldest first'),
      limit: pageLimit(1_000),
      after: text.describe('`id` of the last approval of the previous page'),
    },
    answers: { 200: pageOf(approval) },
  },
  'GET /api/approvals/{id}': { summary: 'One approval', answers: { 200: json(approval) } },
  'POST /api/approvals/{id}': {
    summary: 'Approves a call, with its arguments or edited ones, or denies it',
    body: z.object({ decision: z.enum(['approve', 'deny']), reason: text.optional(), arguments: anything.optional() }),
    answers: { 200: json(approval) },
  },
  'GET /api/usage': {
    summary: 'Usage and its cost: the caller’s own, or for administrators everybody’s',
    query: {
      by: text.describe(
        'One or more of `key`, `principal`, `model`, `tool`, `day`, separated by commas: one row for each combination',
      ),
      since: text.describe('First day (UTC), as a date or a time; absent: the first of this month'),
      until: text.describe('Only days that begin before this; absent: until now'),
      key: text.describe('Only of this key, by its id'),
      principal: text,
      model: text.describe('`provider/model`'),
      tool: text.describe('`server/tool`'),
      format: z.enum(['json', 'csv']).describe('`csv`: the rows as a file'),
    },
    answers: { 200: { ...json(z.object({ data: z.array(usageRow), total: usageSum })), 'text/csv': text } },
  },
  'GET /api/usage/budgets': {
    summary: 'Budgets, what is spent of them, and where they end; the nearest to its end first',
    description:
      'Of each key in force, and of each caller without a key who has spent something this month: of the caller alone, or for administrators of everybody.',
    query: {
      limit: pageLimit(1_000, 100),
      cursor: text.describe('`next_cursor` of the previous page'),
    },
    answers: { 200: json(z.object({ data: z.array(keyBudget), next_cursor: text.nullable() })) },
  },
  'GET /api/audit': {
    summary: 'Rows of the audit, newest first. A page may be short; the last one has no `next_cursor`',
    query: {
      ...filter,
      limit: pageLimit(maxAuditPage, defaultAuditPage),
      cursor: text.describe('`next_cursor` of the previous page'),
    },
    answers: { 200: json(z.object({ data: z.array(auditRow), next_cursor: text.nullable() })) },
  },
  'GET /api/audit/export': {
    summary: 'All rows of the audit that match, newest first, as one download',
    query: { ...filter, format: z.enum(auditFormats) },
    answers: { 200: { 'application/x-ndjson': text, 'text/csv': text } },
  },
  'GET /api/audit/{id}': { summary: 'One row of the audit; for administrators', answers: { 200: json(auditRow) } },
  'GET /api/audit/{id}/proof': {
    summary: 'A file that proves one row of the audit; for administrators',
    description:
      'It has the row, the digests of the rows after it in its chain up to the next signed checkpoint, and that checkpoint. ' +
      '`npm run audit -- prove FILE` and the console check it without the gateway.',
    answers: { 200: json(auditProof) },
  },
  'POST /api/audit/verify': {
    summary: 'Verifies the audit, and tells how far it is; for administrators',
    description: 'One at a time. Closing the connection ends it. Events: `progress`, then one `result`.',
    body: z.object({ since: text.describe('Rows from this time on, ISO 8601') }).partial(),
    bodyOptional: true,
    answers: { 200: sse('AuditEvent') },
  },
};
