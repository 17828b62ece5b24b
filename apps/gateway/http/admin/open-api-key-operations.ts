// Descriptions of the routes of /api/keys for the OpenAPI document.
import { scopes } from '#libs/schemas/call-context.js';
import type { DescribedOperation } from '../openapi/described-operation.js';
import {
  choice,
  describedAs,
  flag,
  integer,
  json,
  list,
  number,
  object,
  pageLimit,
  text,
  textOrNull,
} from '../openapi/open-api-shapes.js';

const count = { ...integer, minimum: 1 };
const amount = { ...number, minimum: 0 };
const globs = describedAs(list(text), '`server/tool`, where `*` matches any text');
const members = {
  owner: text,
  roles: list(text),
  scopes: list(choice(...scopes)),
  tools: object({ allow: globs, deny: globs }, []),
  limits: object({ requests_per_minute: count, tokens_per_minute: count, turns: count }, []),
  budgets: object({ day_usd: amount, month_usd: amount }, []),
};
const shown = {
  id: text,
  prefix: text,
  name: textOrNull,
  ...members,
  models: { type: ['array', 'null'], items: text },
  created_at: text,
  expires_at: textOrNull,
  last_used_at: textOrNull,
  revoked_at: textOrNull,
  replaced_by: textOrNull,
};
const made = json(object({ ...shown, key: describedAs(text, 'The key itself; only in this answer') }));

export const keyOperations: Readonly<Record<string, DescribedOperation>> = {
  'POST /api/keys': {
    summary: 'Makes an API key; for administrators',
    tag: 'keys',
    body: object({ ...members, name: text, models: list(text), expires_at: text }, ['owner', 'scopes']),
    answers: { 201: made },
  },
  'GET /api/keys': {
    summary: 'The API keys, newest first; for administrators',
    tag: 'keys',
    query: { limit: pageLimit(1_000), after: describedAs(text, '`id` of the last key of the previous page') },
    answers: { 200: json(object({ data: list(object(shown)), has_more: flag })) },
  },
  'POST /api/keys/{id}/rotate': {
    summary:
      'Replaces a key with a new one of the same owner; the old one works for `grace_s` more seconds; for administrators',
    tag: 'keys',
    body: object({ grace_s: integer }, []),
    answers: { 201: made },
  },
  'DELETE /api/keys/{id}': {
    summary: 'Revokes a key; for administrators',
    tag: 'keys',
    answers: { 200: json(object(shown)) },
  },
};
