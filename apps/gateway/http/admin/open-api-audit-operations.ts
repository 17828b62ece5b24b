// What the OpenAPI document says of /api/audit.
import { auditFormats } from '#libs/audit/export-audit.js';
import type { DescribedOperation } from '../openapi/described-operation.js';
import {
  choice,
  describedAs,
  flag,
  json,
  list,
  object,
  pageLimit,
  text,
  textOrNull,
} from '../openapi/open-api-shapes.js';
import { defaultAuditPage, maxAuditPage } from './audit.dto.js';

const row = {
  ...object({ id: text, at: text, kind: text, principal: text, success: flag, hash: textOrNull }),
  additionalProperties: true,
};

const filter = {
  since: describedAs(text, 'Rows from this time on, ISO 8601'),
  until: describedAs(text, 'Rows before this time, ISO 8601'),
  session: text,
  principal: text,
  tool: describedAs(text, '`server/tool`, or a tool name on any server'),
  outcome: describedAs(text, '`success`, `failure`, a state such as `denied`, or an error code'),
  text: describedAs(text, 'Text anywhere in the row, upper or lower case'),
};

export const auditOperations: Readonly<Record<string, DescribedOperation>> = {
  'GET /api/audit': {
    summary: 'Rows of the audit, newest first. A page may be short; the last one has no `next_cursor`',
    tag: 'audit',
    query: {
      ...filter,
      limit: { ...pageLimit(maxAuditPage), default: defaultAuditPage },
      cursor: describedAs(text, '`next_cursor` of the previous page'),
    },
    answers: { 200: json(object({ data: list(row), next_cursor: textOrNull })) },
  },
  'GET /api/audit/export': {
    summary: 'All rows of the audit that match, newest first, as one download',
    tag: 'audit',
    query: { ...filter, format: choice(...auditFormats) },
    answers: { 200: { 'application/x-ndjson': text, 'text/csv': text } },
  },
};
