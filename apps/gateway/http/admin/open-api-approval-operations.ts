// Descriptions of the routes of /api/approvals for the OpenAPI document.
import { approvalStates } from '#libs/approvals/approval.js';
import type { DescribedOperation } from '../openapi/described-operation.js';
import {
  anything,
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

export const approval = object({
  id: text,
  kind: describedAs(choice('approval', 'question'), '`question`: the call runs, and its tool server asks something'),
  state: choice(...approvalStates),
  tool_call_id: text,
  tool: text,
  server: text,
  arguments: anything,
  arguments_hash: describedAs(text, 'SHA-256 of the canonical arguments (RFC 8785)'),
  rule: describedAs(textOrNull, 'The policy rule that requires the approval'),
  reason: textOrNull,
  message: describedAs(textOrNull, 'What the tool server asks'),
  schema: describedAs({ type: ['object', 'null'] }, 'JSON schema of the answer to a question'),
  principal: text,
  session_id: text,
  run_id: textOrNull,
  created_at: text,
  expires_at: text,
  decided_at: textOrNull,
  decided_by: textOrNull,
  decision_reason: textOrNull,
  edited: flag,
});

export const approvalOperations: Readonly<Record<string, DescribedOperation>> = {
  'GET /api/approvals': {
    summary: 'Calls that wait, or waited, for an approval, newest first',
    tag: 'approvals',
    query: {
      state: choice(...approvalStates),
      limit: pageLimit(1_000),
      after: describedAs(text, '`id` of the last approval of the previous page'),
    },
    answers: { 200: json(object({ data: list(approval), has_more: flag })) },
  },
  'GET /api/approvals/{id}': {
    summary: 'One approval',
    tag: 'approvals',
    answers: { 200: json(approval) },
  },
  'POST /api/approvals/{id}': {
    summary: 'Approves a call, with its arguments or edited ones, or denies it',
    tag: 'approvals',
    body: object({ decision: choice('approve', 'deny'), reason: text, arguments: anything }, ['decision']),
    answers: { 200: json(approval) },
  },
};
