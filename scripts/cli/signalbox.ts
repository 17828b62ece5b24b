// The program `signalbox`: finds the command, or says which there are. Each command reads its own arguments and says how it ended.
import { readFileSync } from 'node:fs';
import { installedPath } from '#libs/process/find-installed.js';
import { helpOf, helpOfAll, isCommand, nearestCommand, type CommandName } from './commands.js';

const programs: Record<CommandName, () => Promise<unknown>> = {
  start: () => import('../start.js'),
  config: () => import('../config.js'),
  keys: () => import('../keys.js'),
  policy: () => import('../policy.js'),
  audit: () => import('../audit.js'),
  replay: () => import('../replay.js'),
  vault: () => import('../vault.js'),
  tools: () => import('./tools.js'),
  migrate: () => import('../migrate.js'),
  import: () => import('../kb-import.js'),
  'mcp-stdio': () => import('../mcp-stdio.js'),
  doctor: () => import('./doctor.js'),
};
const helps = new Set(['--help', '-h', 'help']);
const takeNothing: ReadonlySet<string> = new Set(['start']);

const [name, ...words] = process.argv.slice(2);
if (name === undefined || (helps.has(name) && words.length === 0)) {
  console.log(helpOfAll());
  if (name === undefined) process.exitCode = 2;
} else if (name === '--version') {
  console.log((JSON.parse(readFileSync(installedPath('package.json'), 'utf8')) as { version: string }).version);
} else {
  const asked = helps.has(name) ? words[0]! : name;
  if (!isCommand(asked)) refuse(asked);
  else if (asked !== name || words.some((word) => word === '--help' || word === '-h')) console.log(helpOf(asked));
  else if (takeNothing.has(asked) && words.length > 0) {
    console.error(`signalbox ${asked}takes no arguments, got ${words.join(' ')}.`);
    process.exitCode = 2;
  } else {
    // As if the command were a program of its own.
    process.argv.splice(2, 1);
    await programs[asked]();
  }
}

function refuse(word: string): void {
  const nearest = nearestCommand(word);
  console.error(`There is no command '${word}'.${nearest === undefined ? '' : ` Did you mean '${nearest}'?`}\n`);
  console.error(helpOfAll());
  process.exitCode = 2;
}
