// Joins the rows of one chain, in any order, to runs in which each row has the hash of the row before it. Memory grows with
// the number of runs, which is one for an intact chain. Pure.

export interface ChainedRow {
  id: string;
  at: Date;
  position: number;
  hash: string;
  previousHash: string;
}

/** What was done to a row, or to rows beside it. */
export type Damage = 'changed' | 'removed' | 'inserted' | 'exchanged' | 'cut_off';

export interface Break {
  /** The broken row, or the row beside missing ones. */
  id: string;
  at: Date;
  chain: number | null;
  position: number | null;
  damage: Damage;
  problem: string;
}

/** More are not kept: who changes every row is not worth their memory. */
export const mostBreaks = 10_000;

/** The last row of a chain, and its hash. */
export interface ChainEnd {
  position: number;
  hash: string;
}

interface Run {
  first: ChainedRow;
  last: ChainedRow;
}

export class ChainRuns {
  readonly breaks: Break[] = [];
  private readonly byStart = new Map<number, Run>();
  private readonly byEnd = new Map<number, Run>();

  constructor(private readonly chain: number) {}

  add(row: ChainedRow): void {
    const { position } = row;
    if (this.byStart.has(position) || this.byEnd.has(position)) return this.twice(row);
    const before = this.byEnd.get(position - 1);
    const after = this.byStart.get(position + 1);
    if (before !== undefined) {
      this.byEnd.delete(position - 1);
      this.checkLink(before.last, row);
    }
    if (after !== undefined) {
      this.byStart.delete(position + 1);
      this.checkLink(row, after.first);
    }
    const run = { first: before?.first ?? row, last: after?.last ?? row };
    this.byStart.set(run.first.position, run);
    this.byEnd.set(run.last.position, run);
  }

  /**
   * The breaks of the chain. Rows up to `start` may be missing; without `start`, any row may be the first.
   * Rows after `end` were written while the others were read.
   */
  finish(start: ChainEnd | undefined, end: ChainEnd): Break[] {
    let before = start;
    let last: ChainedRow | undefined;
    for (const run of [...this.byStart.values()].sort((left, right) => left.first.position - right.first.position)) {
      const { first } = run;
      if (first.position > end.position) break;
      if (start !== undefined && run.last.position <= start.position) continue;
      if (last !== undefined && first.position <= last.position) this.twice(first);
      else if (before !== undefined && first.position > before.position + 1) {
        this.note(
          first,
          'removed',
          `${range(before.position + 1, first.position - 1)} of chain ${this.chain} missing before this row`,
        );
      } else if (before !== undefined && first.position === before.position + 1 && first.previousHash !== before.hash) {
        this.note(first, 'exchanged', 'the row before it in its chain is not the one it was written after');
      }
      before = last = run.last;
    }
    if (last !== undefined && last.position < end.position) {
      this.note(
        last,
        'cut_off',
        `${range(last.position + 1, end.position)} of chain ${this.chain} missing after this row`,
      );
    }
    return this.breaks;
  }

  get isEmpty(): boolean {
    return this.byStart.size === 0;
  }

  private checkLink(before: ChainedRow, row: ChainedRow): void {
    if (row.previousHash !== before.hash) {
      this.note(row, 'exchanged', 'the row before it in its chain is not the one it was written after');
    }
  }

  private twice(row: ChainedRow): void {
    this.note(row, 'inserted', `position ${row.position} of chain ${this.chain} occurs twice`);
  }

  private note({ id, at, position }: ChainedRow, damage: Damage, problem: string): void {
    if (this.breaks.length < mostBreaks) this.breaks.push({ id, at, chain: this.chain, position, damage, problem });
  }
}

const range = (from: number, to: number): string => (from === to ? `position ${from}` : `positions ${from} to ${to}`);
