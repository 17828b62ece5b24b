// Reads the audit, newest first, page by page. Each page is one or two statements of bounded work, however many rows there are
// and however few of them match: a page may be short, or empty, and still be followed by others. Changes nothing.
import type { Database } from '#libs/postgres/open-database.js';
import { type AuditEvent, Prisma } from '#libs/postgres/prisma-client/client.js';
import { storedText } from '#libs/postgres/stored-text.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import { judgedRows } from './past-calls.js';

export interface AuditFilter {
  since?: Date | undefined;
  /** Excludes rows of this time. */
  until?: Date | undefined;
  session?: string | undefined;
  principal?: string | undefined;
  /** `server/tool`, or a tool name on any server. */
  tool?: string | undefined;
  /** `success`, `failure`, a state or an error code. */
  outcome?: string | undefined;
  /** The rule of the policy, or default, that decided a call, or a read of a resource or prompt. */
  rule?: string | undefined;
  kind?: string | undefined;
  run?: string | undefined;
  /** Found anywhere in the row's texts, ignoring case. */
  text?: string | undefined;
}

export interface AuditPage {
  rows: AuditEvent[];
  cursor?: string;
}

/** By how much the time of a row may differ from that of its id, which the process made that wrote it. */
const slackMs = 60_000;
const idPattern = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Maximum rows that are read for a page when no index finds the matching ones. */
const maxLookedAt = 5_000;

interface Place {
  at: Date;
  id: string;
}

export class AuditLog {
  constructor(private readonly database: Database) {}

  /** @throws AppError invalid_value for a cursor that none of its pages gave, store_unavailable */
  async page(filter: AuditFilter, limit: number, cursor?: string): Promise<AuditPage> {
    const { indexed, others } = conditionsOf(filter);
    const within = [...indexed, ...before(cursor === undefined ? undefined : readCursor(cursor))];
    const found = await this.read(within, others, limit + 1);
    if (found.length > limit || others.length === 0) return pageOf(found, limit);
    // The row limit was reached: read again up to a fixed row, after which the next page continues.
    const bound = await this.placeAfter(within, maxLookedAt);
    if (bound === undefined) return pageOf(found, limit);
    const above = Prisma.sql`(at, id) >= (${bound.at}, ${bound.id}::uuid) and at >= ${bound.at}`;
    const page = pageOf(await this.read([...within, above], others, limit + 1), limit);
    return { ...page, cursor: page.cursor ?? writeCursor(bound) };
  }

  /** Looks near the time that the id tells, and only then everywhere. @throws AppError not_found, store_unavailable */
  async row(id: string): Promise<AuditEvent> {
    const isId = idPattern.test(id);
    const found = isId ? ((await this.near(id))[0] ?? (await this.withId(id, []))[0]) : undefined;
    if (found === undefined) throw new AppError('not_found', `There is no row '${id.slice(0, 64)}' of the audit`);
    return found;
  }

  /** All rows, newest first, without rows that are written meanwhile. */
  async *all(filter: AuditFilter, signal: AbortSignal, pageRows = 500): AsyncGenerator<AuditEvent> {
    let cursor: string | undefined;
    do {
      signal.throwIfAborted();
      const page = await this.page(filter, pageRows, cursor);
      yield* page.rows;
      cursor = page.cursor;
    } while (cursor !== undefined);
  }

  private near(id: string): Promise<AuditEvent[]> {
    if (id[14] !== '7') return Promise.resolve([]);
    const made = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
    const [from, to] = [new Date(made - slackMs), new Date(made + slackMs)];
    return this.withId(id, [Prisma.sql`at >= ${from}`, Prisma.sql`at <= ${to}`]);
  }

  private withId(id: string, others: readonly Prisma.Sql[]): Promise<AuditEvent[]> {
    const conditions = [Prisma.sql`id = ${id}::uuid`, ...others];
    return this.database.call(
      (prisma) => prisma.$queryRaw<AuditEvent[]>`select ${columns} from audit_events ${where(conditions)} limit 1`,
    );
  }

  private async placeAfter(conditions: readonly Prisma.Sql[], rows: number): Promise<Place | undefined> {
    const [place] = await this.database.call(
      (prisma) => prisma.$queryRaw<Place[]>`select at, id from audit_events ${where(conditions)}
        order by at desc, id desc offset ${rows - 1}::int limit 1`,
    );
    return place;
  }

  private read(within: readonly Prisma.Sql[], others: readonly Prisma.Sql[], limit: number): Promise<AuditEvent[]> {
    return this.database.call(
      (prisma) => prisma.$queryRaw<AuditEvent[]>`select ${columns} from (
          select * from audit_events ${where(within)} order by at desc, id desc limit ${maxLookedAt}::int) as newest
        ${where(others)} order by at desc, id desc limit ${limit}::int`,
    );
  }
}

function pageOf(found: AuditEvent[], limit: number): AuditPage {
  const last = found.length > limit ? found[limit - 1] : undefined;
  return { rows: found.slice(0, limit), ...(last === undefined ? {} : { cursor: writeCursor(last) }) };
}

/** Conditions for an index (one column, and the time), and others that are checked row by row. */
function conditionsOf({ since, until, session, principal, tool, outcome, rule, kind, run, text }: AuditFilter) {
  const [server, ofServer] = tool === undefined ? [] : splitTool(tool);
  const found: Prisma.Sql[] = [];
  if (session !== undefined) found.push(Prisma.sql`session_id = ${storedText(session)}`);
  if (ofServer !== undefined) found.push(Prisma.sql`tool = ${storedText(ofServer)}`);
  if (principal !== undefined) found.push(Prisma.sql`principal = ${storedText(principal)}`);
  if (rule !== undefined) found.push(Prisma.sql`(${Prisma.raw(judgedRows)} and policy_rule = ${storedText(rule)})`);
  const [first, ...others] = found;
  if (server !== undefined) others.push(Prisma.sql`server = ${storedText(server)}`);
  if (outcome === 'success' || outcome === 'failure') others.push(Prisma.sql`success = ${outcome === 'success'}`);
  else if (outcome !== undefined) others.push(Prisma.sql`${storedText(outcome)} in (state, error_code)`);
  if (kind !== undefined) others.push(Prisma.sql`kind = ${storedText(kind)}`);
  if (run !== undefined) others.push(Prisma.sql`run_id = ${storedText(run)}`);
  if (text !== undefined) others.push(Prisma.sql`${searched} ilike ${`%${escaped(storedText(text))}%`}`);
  const indexed = first === undefined ? [] : [first];
  if (since !== undefined) indexed.push(Prisma.sql`at >= ${since}`);
  if (until !== undefined) indexed.push(Prisma.sql`at < ${until}`);
  return { indexed, others };
}

const searched = Prisma.sql`concat_ws(' ', arguments, result, kind, name, server, tool, principal, error_code, policy_rule, model,
  request_id, call_id, run_id, session_id, approver)`;

const fields = Object.keys(Prisma.AuditEventScalarFieldEnum) as (keyof AuditEvent)[];
const nameOf = (field: string): string => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const columns = Prisma.raw(fields.map((field) => `"${nameOf(field)}" as "${field}"`).join(', '));

/** For a pattern of `like`. */
export const escaped = (text: string): string => text.replaceAll(/[\\%_]/g, String.raw`\$&`);

const where = (conditions: readonly Prisma.Sql[]): Prisma.Sql =>
  conditions.length === 0 ? Prisma.empty : Prisma.sql`where ${Prisma.join([...conditions], ' and ')}`;

function before(place: Place | undefined): Prisma.Sql[] {
  return place === undefined ? [] : [Prisma.sql`(at, id) < (${place.at}, ${place.id}::uuid) and at <= ${place.at}`];
}

/** `server/tool`, or a tool name on any server. */
export function splitTool(tool: string): [server: string | undefined, tool: string] {
  const slash = tool.indexOf('/');
  return slash < 0 ? [undefined, tool] : [tool.slice(0, slash), tool.slice(slash + 1)];
}

const writeCursor = ({ at, id }: Place): string => Buffer.from(`${at.toISOString()} ${id}`).toString('base64url');

function readCursor(cursor: string): Place {
  const [, at, id] = /^(\S{24}) ([\da-f-]{36})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  const place = { at: new Date(at ?? ''), id: id ?? '' };
  if (Number.isNaN(place.at.getTime()) || !idPattern.test(place.id)) {
    throw new AppError('invalid_value', 'cursor must be the next_cursor of a page', { param: 'cursor' });
  }
  return place;
}

export const auditMembers: readonly string[] = fields.map(nameOf);

export const shownAuditEvent = (row: AuditEvent): JsonObject =>
  Object.fromEntries(fields.map((field) => [nameOf(field), shownValue(row[field])]));

function shownValue(value: AuditEvent[keyof AuditEvent]): Json {
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return typeof value === 'bigint' ? Number(value) : value;
}
