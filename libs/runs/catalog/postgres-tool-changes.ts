// Held-back definitions on PostgreSQL. A decision is one statement: it writes the changes, the audit rows and the
// revision that readers check, or nothing.
import { traceIdOf } from '#libs/audit/call-audit.js';
import type { Database } from '#libs/postgres/open-database.js';
import { storedText, storedTextOrNull } from '#libs/postgres/stored-text.js';
import { uuidv7 } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ChangeGrade, DefinitionKind } from '#libs/schemas/tool-change.js';
import { auditedChange, type DefinitionTable, definitionRows } from './postgres-definitions.js';
import type { ChangeDecision, ToolChange, ToolChanges } from './tool-changes.js';

/** Accepting a removal takes it out of the catalog; its definition stays for comparison. */
const decideIn = (table: DefinitionTable) => `
  held_in_${table} as (
    select input.ordinality, input.audit_id, row.server, row.tool, row.change, row.decision, row.definition_hash,
      row.held_hash
    from input join ${table} row on input."table" = '${table}' and row.server = input.server and row.tool = input.tool
    where row.change is not null and row.held_hash is not distinct from input.hash
    order by row.server, row.tool for update of row),
  done_in_${table} as (
    select input.ordinality from input
    join ${table} row on input."table" = '${table}' and row.server = input.server and row.tool = input.tool
    where $2 = 'accepted' and row.change is null and case when input.hash is null
      then row.published is null and not row.listed else row.definition_hash = input.hash end)`;

const updateIn = (table: DefinitionTable) => `
  decided_in_${table} as (
    update ${table} as row set
      definition = case when $2 = 'accepted' then coalesce(row.held_definition, row.definition) else row.definition end,
      definition_hash = case when $2 = 'accepted' then coalesce(row.held_hash, row.definition_hash)
        else row.definition_hash end,
      approved_at = case when $2 = 'accepted' then clock_timestamp() else row.approved_at end,
      published = case when $2 = 'accepted' then row.held_published else row.published end,
      published_hash = case when $2 = 'accepted' then row.held_published_hash else row.published_hash end,
      change = case when $2 = 'accepted' then null else row.change end,
      decision = case when $2 = 'accepted' then null else 'rejected' end,
      held_definition = case when $2 = 'accepted' then null else row.held_definition end,
      held_hash = case when $2 = 'accepted' then null else row.held_hash end,
      held_published = case when $2 = 'accepted' then null else row.held_published end,
      held_published_hash = case when $2 = 'accepted' then null else row.held_published_hash end
    from held_in_${table} held, missing
    where missing.first is null and row.server = held.server and row.tool = held.tool
      and ($2 = 'accepted' or held.decision = 'pending')
    returning held.*),
  audited_in_${table} as (
    insert into audit_events (id, at, kind, request_id, trace_id, principal, key_id, ip, server, tool, definition_hash,
      arguments, success, state, approver)
    select audit_id, clock_timestamp(), 'definition_change', $3, $4, $5, $6, $7, server, tool, held_hash,
      ${auditedChange(table, 'change', 'definition_hash')}, true, $2, $5
    from decided_in_${table} where $8::boolean)`;

const decideChanges = `/* catalog.decide */ with
  input as (
    select * from rows from (jsonb_to_recordset($1::jsonb) as ("table" text, server text, tool text, hash text, audit_id uuid)
    ) with ordinality as decision),
  ${decideIn('catalog_tools')}, ${decideIn('catalog_prompts')},
  missing as (
    select min(ordinality)::int - 1 as first from input where ordinality not in (
      select ordinality from held_in_catalog_tools union all select ordinality from done_in_catalog_tools
      union all select ordinality from held_in_catalog_prompts union all select ordinality from done_in_catalog_prompts)),
  ${updateIn('catalog_tools')}, ${updateIn('catalog_prompts')},
  decided as (
    select 'catalog_tools' as "table", server, tool, change from decided_in_catalog_tools
    union all select 'catalog_prompts', server, tool, change from decided_in_catalog_prompts),
  revised as (
    update catalog_servers set revision = revision + 1
    where $2 = 'accepted' and server in (select server from decided))
  select "table", server, tool, change as grade, null::int as missing from decided
  union all select null, null, null, null, first from missing where first is not null`;

interface DecidedRow {
  table: DefinitionTable;
  server: string;
  tool: string;
  grade: ChangeGrade;
  missing: number | null;
}

export class PostgresToolChanges implements ToolChanges {
  private readonly audit: boolean;

  constructor(
    private readonly database: Database,
    /** `audit: false` writes no audit rows (`audit.enabled`). */
    { audit = true }: { audit?: boolean } = {},
  ) {
    this.audit = audit;
  }

  async list({ limit, after }: Parameters<ToolChanges['list']>[0]): Promise<ToolChange[]> {
    if (after !== undefined && after.kind !== 'tool') return this.listIn('catalog_prompts', limit, after);
    const tools = await this.listIn('catalog_tools', limit, after);
    return tools.length === limit
      ? tools
      : [...tools, ...(await this.listIn('catalog_prompts', limit - tools.length, undefined))];
  }

  private async listIn(
    table: DefinitionTable,
    limit: number,
    after: { server: string; tool: string } | undefined,
  ): Promise<ToolChange[]> {
    const [server, tool] = [storedText(after?.server ?? ''), storedText(after?.tool ?? '')];
    const rows = await this.database.call((prisma) =>
      definitionRows(prisma, table).findMany({
        where: {
          change: { not: null },
          catalogServer: { configured: true },
          OR: [{ server: { gt: server } }, { server, tool: { gt: tool } }],
        },
        orderBy: [{ server: 'asc' }, { tool: 'asc' }],
        take: limit,
        omit: { published: true, heldPublished: true },
      }),
    );
    return rows.map((row) => ({
      kind: kindOf(table, row.tool),
      server: row.server,
      tool: row.tool,
      grade: row.change as ChangeGrade,
      decision: row.decision as ToolChange['decision'],
      changedAt: row.changedAt,
      approved: definitionOf(row.definitionHash, row.definition),
      held: definitionOf(row.heldHash, row.heldDefinition),
    }));
  }

  async decide(
    decision: 'accept' | 'reject',
    changes: readonly ChangeDecision[],
    by: Parameters<ToolChanges['decide']>[2],
  ): ReturnType<ToolChanges['decide']> {
    const input = changes.map(({ kind, server, tool, hash }) => ({
      table: tableOf(kind),
      server: storedText(server),
      tool: storedText(tool),
      hash: storedTextOrNull(hash),
      audit_id: uuidv7(),
    }));
    const rows = await this.database.call((prisma) =>
      prisma.$queryRawUnsafe<DecidedRow[]>(
        decideChanges,
        JSON.stringify(input),
        decision === 'accept' ? 'accepted' : 'rejected',
        storedText(by.requestId),
        traceIdOf(by.traceparent),
        storedText(by.principal),
        storedTextOrNull(by.keyId),
        by.ip ?? null,
        this.audit,
      ),
    );
    const missing = rows.find((row) => row.missing !== null)?.missing;
    return missing == null
      ? { decided: rows.map(({ table, server, tool, grade }) => ({ kind: kindOf(table, tool), server, tool, grade })) }
      : { decided: [], missing };
  }

  async countPending(): Promise<number> {
    const where = { decision: 'pending', catalogServer: { configured: true } };
    const counts = await this.database.call((prisma) =>
      Promise.all([prisma.catalogTool.count({ where }), prisma.catalogPrompt.count({ where })]),
    );
    return counts[0] + counts[1];
  }
}

const tableOf = (kind: DefinitionKind): DefinitionTable => (kind === 'tool' ? 'catalog_tools' : 'catalog_prompts');

function kindOf(table: DefinitionTable, tool: string): DefinitionKind {
  if (table === 'catalog_tools') return 'tool';
  return tool === '' ? 'instructions' : 'prompt';
}

function definitionOf(hash: string | null, definition: unknown): { hash: string; definition: JsonObject } | null {
  return hash === null ? null : { hash, definition: definition as JsonObject };
}
