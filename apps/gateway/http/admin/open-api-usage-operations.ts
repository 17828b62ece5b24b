// What the OpenAPI document says of /api/usage.
import type { DescribedOperation } from '../openapi/described-operation.js';
import { describedAs, integer, json, list, number, object, text, textOrNull } from '../openapi/open-api-shapes.js';

const sums = {
  requests: integer,
  calls: integer,
  prompt_tokens: integer,
  completion_tokens: integer,
  cost_usd: number,
};
const row = object({ key: textOrNull, model: textOrNull, tool: textOrNull, day: text, ...sums }, Object.keys(sums));

export const usageOperations: Readonly<Record<string, DescribedOperation>> = {
  'GET /api/usage': {
    summary: 'Usage and its cost: the caller’s own, or for administrators everybody’s',
    tag: 'keys',
    query: {
      by: describedAs(
        text,
        'One or more of `key`, `model`, `tool`, `day`, separated by commas: one row for each combination',
      ),
      since: describedAs(text, 'First day (UTC), as a date or a time; absent: the first of this month'),
      until: describedAs(text, 'Only days that begin before this; absent: until now'),
    },
    answers: { 200: json(object({ data: list(row), total: object(sums) })) },
  },
};
