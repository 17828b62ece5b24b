// All writes of a process into the store share statements and commits: the beginning of one turn with a round of
// another and the end of a third. Knows the parts of a statement, not the contents of their rows.
import { GroupCommit } from '#libs/postgres/group-commit.js';
import type { Database } from '#libs/postgres/open-database.js';
import { arrayOf } from '#libs/postgres/stored-text.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import { type WriteName, type WritePart, writeParts } from './write-parts.js';

export interface StoreWritesOptions {
  /** False writes no audit rows (`audit.enabled`). */
  audit?: boolean;
}

/** The result of a part for a written row. */
export interface WriteResult {
  result: Json;
}

interface Write {
  name: WriteName;
  /** The row as JSON. */
  text: string;
}

interface WrittenRow {
  name: WriteName;
  /** Position among the rows of the same part, from 1; digits of a bigint. */
  ordinality: string;
  result: Json;
}

export class StoreWrites {
  private readonly group: GroupCommit<Write, WriteResult | undefined>;
  private readonly parts: Record<WriteName, WritePart>;
  /** In the order in which they appear in a statement. */
  private readonly names: readonly WriteName[];
  /** Prefix of the statements' names: a connection knows one text per name. */
  private readonly kind: string;
  /** Statements by the names of their parts. */
  private readonly statements = new Map<string, string>();

  constructor(
    private readonly database: Database,
    { audit = true }: StoreWritesOptions = {},
  ) {
    this.parts = writeParts(audit);
    this.names = Object.keys(this.parts) as WriteName[];
    this.kind = audit ? 'writes' : 'unaudited';
    this.group = new GroupCommit((rows) => this.write(rows), {
      timeoutMs: database.timeoutMs,
      charactersOf: ({ text }) => text.length,
    });
  }

  /**
   * Resolves when the row is on disk, with the part's result; undefined if the part's condition did not hold and nothing was
   * written. @throws AppError store_unavailable
   */
  submit(name: WriteName, row: JsonObject): Promise<WriteResult | undefined> {
    return this.group.submit({ name, text: JSON.stringify(row) });
  }

  private write(rows: readonly Write[]): Promise<(WriteResult | undefined)[]> {
    const rowsOf = new Map<WriteName, string[]>();
    const places = rows.map(({ name, text }) => {
      const texts = rowsOf.get(name) ?? [];
      rowsOf.set(name, texts);
      return `${name} ${texts.push(text)}`;
    });
    const names = this.names.filter((name) => rowsOf.has(name));
    const parameters = names.map((name) => arrayOf(rowsOf.get(name)!));
    return this.database.query<WrittenRow>(this.statementOf(names), parameters).then((found) => {
      const written = new Map<string, WriteResult>();
      for (const row of found) written.set(`${row.name} ${row.ordinality}`, { result: row.result });
      return places.map((place) => written.get(place));
    });
  }

  /** The statement with exactly the parts that have rows, so that a single write carries no other parts. */
  private statementOf(names: readonly WriteName[]): string {
    const key = names.join('.');
    const known = this.statements.get(key);
    if (known !== undefined) return known;
    const results = names.map(
      (name) => `select '${name}' as name, written.*
      from (select ${this.parts[name].written}) as written (ordinality, result)`,
    );
    const statement = `/* ${this.kind}.${key} */ with
      ${names.map((name, index) => this.withRows(name, index + 1, names.includes('begin'))).join(',\n')}
      ${results.join('\nunion all ')}`;
    this.statements.set(key, statement);
    return statement;
  }

  private withRows(name: WriteName, parameter: number, afterBegin: boolean): string {
    const { columns, steps, stepsAfterBegin = steps } = this.parts[name];
    return `${name}_rows as (
      select * from rows from (jsonb_to_recordset($${parameter}::jsonb) as (${columns})) with ordinality as ${name}_row),
    ${afterBegin ? stepsAfterBegin : steps}`;
  }
}
