// `npm run scoreboard`: runs what compares and attacks Signalbox, or the parts that are named, and writes what came out into
// docs/scoreboard.md. Other parts of the page stay as they are. Exit codes: 0 written, 1 nothing could be read of a part, 2 wrong usage.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { boards, type BoardName, isBoardName } from './scoreboard/boards.js';
import { type Board, emptyPage, type Origin, withBoard } from './scoreboard/write-page.js';

const page = 'docs/scoreboard.md';
const longestRunMs = 4 * 3_600_000;
const maxOutputBytes = 64 * 1024 * 1024;

const named = process.argv.slice(2);
const unknown = named.filter((name) => !isBoardName(name));
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(', ')}. Parts: ${Object.keys(boards).join(', ')}`);
  process.exit(2);
}
const chosen = (named.length > 0 ? named : Object.keys(boards)) as BoardName[];
for (const name of chosen) process.exitCode = (await runBoard(name)) ? process.exitCode : 1;

async function runBoard(name: BoardName): Promise<boolean> {
  const { command, usesReport, read }: Board = boards[name];
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-scoreboard-'));
  try {
    const report = join(directory, 'report.json');
    // Read before the run: what is committed meanwhile was not measured.
    const origin = await originOf();
    const more = usesReport === true ? ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`] : [];
    const { status, output } = await run([...command, ...more]);
    const lines = read(usesReport === true ? readFileSync(report, 'utf8') : output);
    const before = existsSync(page) ? readFileSync(page, 'utf8') : emptyPage(boards);
    const text = withBoard(before, name, { ...origin, command: command.join(' '), status, lines });
    writeFileSync(page, await format(text, { ...(await resolveConfig(page)), parser: 'markdown' }));
    return true;
  } catch (error) {
    console.error(`${name}: nothing was written: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function originOf(): Promise<Omit<Origin, 'command' | 'status' | 'lines'>> {
  const git = async (...words: string[]) => (await run(['git', ...words], false)).output.trim();
  const changes = await git('status', '--porcelain', '--', '.', `:!${page}`);
  return {
    commit: await git('rev-parse', '--short=12', 'HEAD'),
    isClean: changes === '',
    at: new Date(),
    node: process.version,
  };
}

/** The output is shown while it comes, if it is wanted. @throws Error if the program cannot be started or takes too long */
function run(words: readonly string[], isShown = true): Promise<{ status: number; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(words[0]!, words.slice(1), {
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: longestRunMs,
      shell: process.platform === 'win32',
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (isShown) process.stdout.write(text);
      if (output.length < maxOutputBytes) output += text;
    });
    child.once('error', reject);
    child.once('close', (status, signal) => {
      if (status === null) reject(new Error(`${words.join(' ')} was ended by ${signal}`));
      else resolve({ status, output });
    });
  });
}
