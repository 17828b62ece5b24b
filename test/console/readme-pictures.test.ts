// The scene that the pictures of the README show, on a gateway as it is after `npm start`. Made anew by
// `SCREENSHOTS=docs/pictures npx vitest run test/console/readme-pictures.test.ts`.
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { noChromium } from '../support/browser/find-chromium.js';
import { type Person, TestBrowser } from '../support/browser/test-browser.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const suite = `pictures of the console${noChromium === undefined ? '' : ` (${noChromium})`}`;
const themes = ['light', 'dark'] as const;

describe.skipIf(noChromium !== undefined)(suite, () => {
  let box: SignalboxHere;
  let browser: TestBrowser;

  beforeAll(async () => {
    box = await startSignalboxHere({ environment: {}, scripted: false });
    browser = await TestBrowser.open(box.url);
  });
  afterAll(async () => {
    await browser?.close();
    await box?.close();
  });

  /** The three prompts of an empty chat, one after the other; the last one waits for its approval. */
  async function chatOf({ page }: Person): Promise<void> {
    await page.getByRole('button', { name: /^Write "milk/ }).click();
    await page.getByText('Wrote 20 bytes').first().waitFor();
    await page.getByRole('button', { name: 'Read list.txt' }).click();
    await page.getByText('Result of').first().waitFor();
    await page.getByRole('button', { name: /^Delete list.txt/ }).click();
    await page.getByRole('button', { name: 'Approve' }).waitFor();
  }

  verifies('console.pictures', 'in light and dark, as the README names them', async () => {
    const readme = readFileSync('README.md', 'utf8');
    for (const theme of themes) {
      const person = await browser.asPerson({ theme, height: 800 });
      const { page } = person;
      const shown = async (view: string) => {
        const path = `docs/pictures/${view}-${theme}.png`;
        await person.picture(`${view}-${theme}`);
        expect(readme).toContain(path);
        expect(existsSync(path), path).toBe(true);
      };
      await person.open('chat');
      await chatOf(person);
      await shown('chat');
      const { data } = (await (await fetch(`${box.url}/api/runs?tool=write_file`)).json()) as {
        data: { id: string }[];
      };
      await person.open(`runs/${data[0]!.id}`);
      await page.getByText('workspace/write_file').first().waitFor();
      await shown('run');
      await person.open('approvals');
      await page.getByRole('button', { name: 'Approve' }).first().waitFor();
      await shown('approvals');
      await person.open();
      await page.getByRole('heading', { name: 'Last 24 hours' }).waitFor();
      await shown('home');
      await person.leave();
    }
  });
});
