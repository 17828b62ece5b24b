// Runs the commands of docs/api.md one after the other in one shell, and compares their output with the page. After
// intended changes, `npx vitest run -u --project e2e test/e2e/api-docs.test.ts` and Prettier update the page.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type TemporaryDirectory, temporaryDirectory } from '#libs/testing/services/start-process.js';
import { type Signalbox, startSignalbox } from '#libs/testing/services/start-signalbox.js';
import { address, type Block, pageAsRun } from '../support/page-examples.js';
import { canRun } from '../support/run-program.js';
import { verifies } from '../verifies.js';

const page = fileURLToPath(new URL('../../docs/api.md', import.meta.url));

let box: Signalbox;
let directory: TemporaryDirectory;

beforeAll(async () => {
  box = await startSignalbox({ scripted: false });
  directory = await temporaryDirectory();
});
afterAll(async () => {
  await box?.close();
  await directory?.remove();
});

/** Every block must be a command or its answer, so that none is left untested. */
function commandOf({ language, text, number }: Block): string | undefined {
  if (number % 2 === 1) return undefined;
  expect(language, text).toBe('bash');
  expect(text).toMatch(/\bcurl\b/);
  expect(text).toContain(address);
  return text;
}

describe.skipIf(!canRun('curl', ['--version']))('docs/api.md', () => {
  verifies('chat.examples', 'every command of docs/api.md, with its answer', async () => {
    const written = await readFile(page, 'utf8');
    expect(written.match(/^```bash$/gm)!.length).toBeGreaterThan(20);
    const asRun = await pageAsRun(written, { url: box.url, directory: directory.path, commandOf });
    await expect(asRun).toMatchFileSnapshot(page);
  });
});
