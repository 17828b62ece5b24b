// Runs the examples of a page of the documentation, one after the other in one shell, and compares their output with the page.
// Every block must be handled, so that none is left untested.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { runProgram } from './run-program.js';

/** The address in all documents. */
export const address = 'http://127.0.0.1:8000';
const endOfBlock = 'end-of-block';
const fences = /^```(\w*)\n([\s\S]*?)^```$/gm;

export interface PageStage {
  url: string;
  /** The working directory. Files that commands leave are there afterwards. */
  directory: string;
  environment?: Record<string, string>;
  /** The command that runs a block; undefined: it is the output of the block before; null: its test has seen to it. */
  commandOf: (block: Block) => Promise<string | undefined | null> | string | undefined | null;
}

export interface Block {
  language: string;
  text: string;
  /** From 0, among all blocks of the page. */
  number: number;
}

/** The page with what its commands print now. It is the page itself if that differs in ids, times and durations only. */
export async function pageAsRun(markdown: string, stage: PageStage): Promise<string> {
  const blocks = Array.from(markdown.matchAll(fences), ([, language, text], number) => ({
    language: language!,
    text: text!,
    number,
  }));
  const commands: string[] = [];
  /** By the number of the block that shows the output: the command that printed it. */
  const sources = new Map<number, number>();
  let before: string | undefined | null;
  for (const block of blocks) {
    const command = await stage.commandOf(block);
    if (command === undefined) {
      expect(before, `no command before: ${block.text}`).toBeDefined();
      expect(['json', 'text'], block.text).toContain(block.language);
      if (before !== null) sources.set(block.number, commands.length - 1);
    }
    if (typeof command === 'string') commands.push(command);
    before = command;
  }
  const answers = await answersTo(commands, stage);
  let at = 0;
  return markdown.replaceAll(fences, (whole: string, language: string, printed: string) => {
    const source = sources.get(at++);
    if (source === undefined) return whole;
    const [was, is] = [printed, answers[source]!].map((answer) => compact(language, answer));
    return masked(was!) === masked(is!) ? whole : `\`\`\`${language}\n${is}\n\`\`\``;
  });
}

async function answersTo(commands: readonly string[], stage: PageStage): Promise<string[]> {
  const { directory, url } = stage;
  await mkdir(directory, { recursive: true });
  // Silences curl's progress, which it shows only when its output is not a terminal, unlike for the reader.
  await writeFile(join(directory, '.curlrc'), 'silent\nshow-error\n');
  const script = commands.map((command) => `${command.trimEnd()}\necho ${endOfBlock}\n`).join('');
  const { code, stdout, stderr } = await runProgram('sh', ['-eu'], {
    input: `cd "$HOME"\n${script.replaceAll(address, url)}`,
    env: { PATH: process.env['PATH'], HOME: directory, ...stage.environment },
    timeoutMs: 120_000,
  });
  const answers = stdout.split(`${endOfBlock}\n`);
  expect({ code, stderr, rest: answers.pop(), answers: answers.length }).toEqual({
    code: 0,
    stderr: '',
    rest: '',
    answers: commands.length,
  });
  return answers.map((answer) => answer.replaceAll(url, address).replaceAll('\r', '').trimEnd());
}

/** Removes what differs between runs: ids, times, durations. */
const masked = (answer: string): string =>
  answer
    .replaceAll(/\b([a-z]+[-_])[0-9a-f]{16,}\b/g, '$1…')
    .replaceAll(/"(created|duration_ms)":\d+/g, '"$1":0')
    .replaceAll(/"(created_at|expires_at|modified_at|etag)":"(?:[^"\\]|\\.)*"/g, '"$1":"…"');

const compact = (language: string, answer: string): string =>
  language === 'json' && answer.trim() !== '' ? JSON.stringify(JSON.parse(answer)) : answer.trimEnd();
