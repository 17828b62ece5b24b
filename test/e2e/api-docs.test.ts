// Runs the commands of docs/api.md one after the other in one shell, and compares their output with the page. After
// intended changes, `npx vitest run -u --project e2e test/e2e/api-docs.test.ts` and Prettier update the page.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type Signalbox, startSignalbox } from '#libs/testing/services/start-signalbox.js';
import { canRun, runProgram } from '../support/run-program.js';
import { verifies } from '../verifies.js';

const page = fileURLToPath(new URL('../../docs/api.md', import.meta.url));
const address = 'http://127.0.0.1:8000';
const endOfBlock = 'end-of-block';

let box: Signalbox;
let directory: string;

beforeAll(async () => {
  box = await startSignalbox({ scripted: false });
  directory = await mkdtemp(join(tmpdir(), 'signalbox-api-docs-'));
  // Silences curl's progress, which it shows only when its output is not a terminal, unlike for the reader.
  await writeFile(join(directory, '.curlrc'), 'silent\nshow-error\n');
});
afterAll(async () => {
  await box?.close();
  if (directory !== undefined) await rm(directory, { recursive: true, force: true });
});

interface Example {
  command: string;
  language: string;
  printed: string;
}

/** Every block must be a command or its answer, so that none is left untested. */
function examplesIn(markdown: string): Example[] {
  const blocks = Array.from(markdown.matchAll(fences), ([, language, text]) => ({ language: language!, text: text! }));
  return blocks.flatMap(({ language, text }, at) => {
    if (at % 2 === 0) {
      expect(language, text).toBe('bash');
      expect(text).toMatch(/\bcurl\b/);
      expect(text).toContain(address);
      return [];
    }
    expect(['json', 'text'], text).toContain(language);
    return [{ command: blocks[at - 1]!.text, language, printed: text }];
  });
}
const fences = /^```(\w*)\n([\s\S]*?)^```$/gm;

async function answersTo(commands: readonly string[]): Promise<string[]> {
  const script = commands.map((command) => `${command}echo ${endOfBlock}\n`).join('');
  const { code, stdout, stderr } = await runProgram('sh', ['-eu'], {
    input: `cd "$HOME"\n${script.replaceAll(address, box.url)}`,
    env: { PATH: process.env['PATH'], HOME: directory },
    timeoutMs: 60_000,
  });
  const answers = stdout.split(`${endOfBlock}\n`);
  expect({ code, stderr, rest: answers.pop(), answers: answers.length }).toEqual({
    code: 0,
    stderr: '',
    rest: '',
    answers: commands.length,
  });
  return answers.map((answer) => answer.replaceAll(box.url, address).replaceAll('\r', '').trimEnd());
}

/** Removes what differs between runs: ids, times, durations. */
const masked = (answer: string): string =>
  answer
    .replaceAll(/\b([a-z]+[-_])[0-9a-f]{16,}\b/g, '$1…')
    .replaceAll(/"(created|duration_ms)":\d+/g, '"$1":0')
    .replaceAll(/"(created_at|expires_at|modified_at|etag)":"(?:[^"\\]|\\.)*"/g, '"$1":"…"');

const compact = (language: string, answer: string): string =>
  language === 'json' && answer.trim() !== '' ? JSON.stringify(JSON.parse(answer)) : answer.trimEnd();

describe.skipIf(!canRun('curl', ['--version']))('docs/api.md', () => {
  verifies('chat.examples', 'every command of docs/api.md, with its answer', async () => {
    const written = await readFile(page, 'utf8');
    const examples = examplesIn(written);
    expect(examples.length).toBeGreaterThan(20);
    const answers = await answersTo(examples.map(({ command }) => command));
    let block = 0;
    const answered = written.replaceAll(fences, (whole: string) => {
      const at = block++;
      if (at % 2 === 0) return whole;
      const { language, printed } = examples[(at - 1) / 2]!;
      const [was, is] = [printed, answers[(at - 1) / 2]!].map((answer) => compact(language, answer));
      return masked(was!) === masked(is!) ? whole : `\`\`\`${language}\n${is}\n\`\`\``;
    });
    await expect(answered).toMatchFileSnapshot(page);
  });
});
