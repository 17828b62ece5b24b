// The conditions of a list of runs, and the indexes that could find its runs. Pure.
import { escaped, splitTool } from '#libs/audit/audit-log.js';
import { Prisma } from '#libs/postgres/prisma-client/client.js';
import { storedText } from '#libs/postgres/stored-text.js';
import type { RunFilter, ShownRunState } from './run-filter.js';

/** The ids of the list are between these, both excluded. */
export interface IdRange {
  after: string;
  before: string;
}

/** Entries of an index in the order of run ids: the table, its column with the id, and what its entries have in common. */
export interface Source {
  name: string;
  table: Prisma.Sql;
  id: Prisma.Sql;
  where: Prisma.Sql;
  /** An entry is a run; else a run may have several. */
  isOfRuns: boolean;
}

export interface RunConditions {
  /** What finds the runs of each given filter; the list may be read by any of them. */
  sources: Source[][];
  /** What each run of the list fulfils, whatever it was found by. */
  holds: Prisma.Sql[];
}

const { sql } = Prisma;
const runs = { table: sql`runs`, id: sql`id`, isOfRuns: true };
const calls = { table: sql`tool_calls`, id: sql`run_id`, isOfRuns: false };
const rounds = { table: sql`run_rounds`, id: sql`run_id`, isOfRuns: false };
/** The runs with a call that waits for a person. */
const waiting = sql`run_id is not null and state = 'parked'`;

export const allRuns: Source = { ...runs, name: 'all', where: sql`true` };

export function conditionsOf(filter: RunFilter): RunConditions {
  const sources: Source[][] = [];
  const holds: Prisma.Sql[] = [sql`run.asked is not null`];
  const { session, error, tool, model, principal, state, text, since, until } = filter;
  if (session !== undefined) {
    const where = sql`session_id = ${storedText(session)}`;
    sources.push([{ ...runs, name: 'session', where }]);
    holds.push(sql`run.session_id = ${storedText(session)}`);
  }
  if (error !== undefined) {
    const code = JSON.stringify(storedText(error));
    sources.push([{ ...runs, name: 'error', where: sql`error is not null and (error -> 'code')::text = ${code}` }]);
    holds.push(sql`run.error is not null and (run.error -> 'code')::text = ${code}`);
  }
  if (tool !== undefined) addTool(tool, sources, holds);
  if (model !== undefined) addModel(storedText(model), sources, holds);
  if (principal !== undefined) {
    sources.push([{ ...runs, name: 'principal', where: sql`principal = ${storedText(principal)}` }]);
    holds.push(sql`run.principal = ${storedText(principal)}`);
  }
  if (state !== undefined) addState(state, sources, holds);
  if (text !== undefined) {
    const pattern = `%${escaped(storedText(text))}%`;
    holds.push(sql`(run.asked ilike ${pattern} or run.id ilike ${pattern})`);
  }
  if (since !== undefined) holds.push(sql`run.created_at >= ${since}`);
  if (until !== undefined) holds.push(sql`run.created_at < ${until}`);
  return { sources, holds };
}

function addTool(given: string, sources: Source[][], holds: Prisma.Sql[]): void {
  const [server, tool] = splitTool(storedText(given));
  const ofServer = server === undefined ? Prisma.empty : sql`and server = ${server}`;
  const where = sql`tool = ${tool} and run_id is not null and tool <> ''`;
  sources.push([{ ...calls, name: 'tool', where }]);
  holds.push(sql`exists (select from tool_calls where run_id = run.id and tool = ${tool} ${ofServer})`);
}

function addModel(model: string, sources: Source[][], holds: Prisma.Sql[]): void {
  const named: Source = { ...runs, name: 'model', where: sql`model = ${model}` };
  const [provider, answered] = splitTool(model);
  if (provider === undefined) {
    sources.push([named]);
    holds.push(sql`run.model = ${model}`);
    return;
  }
  sources.push([named, { ...rounds, name: 'answered', where: sql`model = ${answered}` }]);
  holds.push(sql`(run.model = ${model} or exists (
    select from run_rounds where run_id = run.id and model = ${answered} and provider = ${provider}))`);
}

function addState(state: ShownRunState, sources: Source[][], holds: Prisma.Sql[]): void {
  const waits = sql`array(select run_id from tool_calls where ${waiting})`;
  if (state === 'waiting') {
    sources.push([{ ...calls, name: 'waiting', where: waiting }]);
    holds.push(sql`run.id = any(${waits})`);
    return;
  }
  // Runs that are done are the most: no index of them is shorter than that of all runs.
  if (state !== 'done') sources.push([{ ...runs, name: 'state', where: sql`state = ${state} and state <> 'done'` }]);
  holds.push(sql`run.state = ${state}`, sql`run.id <> all(${waits})`);
}

/** Entries of the source within the range, newest first, at most `most`. */
export const entriesOf = ({ table, id, where }: Source, { after, before }: IdRange, most: number): Prisma.Sql =>
  sql`select ${id} as id from ${table} where ${where} and ${id} > ${after} and ${id} < ${before}
    order by ${id} desc limit ${most}::int`;
