// The page of the scoreboard: each part stands between two comments, and is replaced as a whole. Pure.

export interface Board {
  title: string;
  about: string;
  command: readonly string[];
  /** A report of vitest is read in place of the output. */
  usesReport?: true;
  /** Lines of Markdown. @throws Error if the text has no results */
  read(text: string): string[];
}

export interface Origin {
  command: string;
  commit: string;
  /** Whether the run was of that commit alone, without changes. */
  isClean: boolean;
  at: Date;
  node: string;
  /** The exit code. */
  status: number;
  lines: readonly string[];
}

const begin = (name: string) => `<!-- scoreboard: ${name} -->`;
const end = (name: string) => `<!-- end of ${name} -->`;

export const emptyPage = (boards: Readonly<Record<string, Board>>): string =>
  [
    '# Scoreboard',
    '',
    '<!-- The parts are written by `npm run scoreboard`, from what the commands print. Do not edit them. -->',
    '',
    'What others judge Signalbox by, and what it is compared with. `npm run scoreboard` runs all parts, `npm run scoreboard -- conformance isolation` the ones that are named. Each part says which command repeats it, on which commit it ran and when.',
    ...Object.entries(boards).flatMap(([name, { title, about }]) => [
      '',
      `## ${title}`,
      '',
      about,
      '',
      begin(name),
      '',
      'Not run yet.',
      '',
      end(name),
    ]),
    '',
  ].join('\n');

/** @throws Error if the page lacks the part */
export function withBoard(page: string, name: string, origin: Origin): string {
  const from = page.indexOf(begin(name));
  const to = page.indexOf(end(name));
  if (from === -1 || to < from) throw new Error(`docs/scoreboard.md has no place for ${name}`);
  const { command, commit, isClean, at, node, status, lines } = origin;
  const when = at.toISOString().slice(0, 16).replace('T', ' ');
  const where = `commit \`${commit}\`${isClean ? '' : ' with changes'}, ${when} UTC, Node ${node}`;
  const said = `\`${command.replace(/ --$/, '')}\`: ${where}, exit code ${status}.`;
  return `${page.slice(0, from)}${[begin(name), '', said, '', ...lines, ''].join('\n')}\n${page.slice(to)}`;
}

export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}
