// The results as a Markdown table: a row an attack, a column a level and user.
import type { Level, Worker } from './attack.js';
import { familyOf } from './attacks.js';
import type { Verdict } from './run-attacks.js';

export interface Column {
  level: Level;
  worker: Worker;
  landlock?: number;
  /** The same attacks in the same order in every column. */
  verdicts: readonly Verdict[];
}

const headOf = ({ level, worker, landlock }: Column) =>
  `${level}, ${worker}${landlock === undefined ? '' : `, Landlock ${landlock}`}`;
const shown = { stopped: 'stopped', escaped: 'ESCAPED', untried: '–' } as const;

export function renderMatrix(columns: readonly Column[], details = false): string {
  const head = ['attack', 'what', ...columns.map(headOf)];
  const cell = ({ outcome, detail, ms }: Verdict) =>
    details ? `${shown[outcome]} (${detail}) ${ms.toFixed(0)} ms` : shown[outcome];
  const rows = (columns[0]?.verdicts ?? []).map(({ attack }, at) => [
    attack.name,
    attack.title,
    ...columns.map(({ verdicts }) => cell(verdicts[at]!)),
  ]);
  const families = [...new Set((columns[0]?.verdicts ?? []).map(({ attack }) => familyOf(attack)))];
  const totals = families.map((family) => [
    `**${family}**`,
    'escaped of tried',
    ...columns.map(({ verdicts }) => {
      const tried = verdicts.filter(({ attack, outcome }) => familyOf(attack) === family && outcome !== 'untried');
      return `${tried.filter(({ outcome }) => outcome === 'escaped').length} of ${tried.length}`;
    }),
  ]);
  return [head, head.map(() => '---'), ...rows, ...totals].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
