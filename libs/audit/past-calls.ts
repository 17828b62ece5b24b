// Reads the calls of a time from the audit, and the reads of resources and prompts, page by page, with no more columns than a policy needs
// to judge them.
import type { Database } from '#libs/postgres/open-database.js';
import type { PastCall } from '#libs/policy/judge-past-call.js';

export interface AuditedCall extends PastCall {
  id: string;
  at: Date;
  callId: string | null;
}

export interface PastCallsQuery {
  since: Date;
  /** Excludes calls of this time; absent: until now. */
  until?: Date | undefined;
  newestFirst?: boolean;
  pageRows?: number;
}

/** Conditions of the rows that the policy decided. Each is that of an index by rule and time. */
export const callRows = "kind = 'tool_call'";
export const readRows = "kind in ('resource_read', 'prompt_get')";
export const judgedRows = `(${callRows} or ${readRows})`;

const columns = `case kind when 'resource_read' then 'resource' when 'prompt_get' then 'prompt' else 'tool' end as kind, id, at, call_id as "callId", principal, key_id as "keyId", server, tool, arguments,
  arguments_digest as "argumentsDigest", error_code as "errorCode", policy_rule as "policyRule",
  approval_id as "approvalId"`;
const oldestFirst = `/* audit.past-calls */ select ${columns} from audit_events
  where ${judgedRows} and (at, id) > ($1, $2::uuid) and at >= $1 and at < $3 order by at, id limit $4`;
const newestFirst = `/* audit.newest-calls */ select ${columns} from audit_events
  where ${judgedRows} and (at, id) < ($1, $2::uuid) and at <= $1 and at >= $3 order by at desc, id desc limit $4`;

const lowestId = '00000000-0000-0000-0000-000000000000';

/** The next page is read while one is looked at. @throws AppError store_unavailable; the signal's reason */
export async function* pastCalls(
  database: Pick<Database, 'query'>,
  query: PastCallsQuery,
  signal?: AbortSignal,
): AsyncGenerator<AuditedCall[], void> {
  const { since, until = 'infinity', newestFirst: isNewestFirst = false, pageRows = 1_000 } = query;
  const read = (at: Date | string, id: string) =>
    isNewestFirst
      ? database.query<AuditedCall>(newestFirst, [at, id, since, pageRows])
      : database.query<AuditedCall>(oldestFirst, [at, id, until, pageRows]);
  let next: Promise<AuditedCall[]> | undefined = read(isNewestFirst ? until : since, lowestId);
  while (next !== undefined) {
    const page: AuditedCall[] = await next;
    signal?.throwIfAborted();
    const last = page.length < pageRows ? undefined : page.at(-1);
    next = last === undefined ? undefined : read(last.at, last.id);
    // Its failure is that of the next turn, or of nobody if the reader leaves.
    next?.catch(() => undefined);
    if (page.length > 0) yield page;
  }
}
