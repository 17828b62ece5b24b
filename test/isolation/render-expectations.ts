// What docs/isolation.md says of every attack, between its markers: which level stops it, and why where none does.
import { claims, type Attack, type Level } from './attack.js';
import { attacks, familyOf } from './attacks.js';

const families: Record<string, string> = {
  files: 'Files of others',
  processes: 'Other processes',
  survival: 'Outliving the server',
  kernel: 'The kernel, and rights',
  network: 'The network',
  exhaustion: 'Exhaustion',
};
export const begin = '<!-- attacks: begin, written by `npm run isolation:matrix -- --docs` -->';
export const end = '<!-- attacks: end -->';

const levels = ['process', 'confined', 'namespace'] as const satisfies readonly Level[];

function cell(attack: Attack, level: Level): string {
  if (claims(attack, level, 'user')) return 'stopped';
  return claims(attack, level, 'root') ? 'as root' : 'no';
}

export function renderExpectations(): string {
  const parts = Object.entries(families).map(([family, title]) => {
    const rows = attacks
      .filter((attack) => familyOf(attack) === family)
      .map((attack) => [attack.title, ...levels.map((level) => cell(attack, level))]);
    const table = [['attack', ...levels.map((level) => `\`${level}\``)], ['---', '---', '---', '---'], ...rows];
    return [`### ${title}`, '', ...table.map((cells) => `| ${cells.join(' | ')} |`), ''].join('\n');
  });
  return parts.join('\n');
}

/** The document with the tables as they are now. */
export function withExpectations(document: string): string {
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from < 0 || to < 0) throw new Error('the markers of the attacks are missing');
  return `${document.slice(0, from)}${begin}\n\n${renderExpectations()}\n${document.slice(to)}`;
}
