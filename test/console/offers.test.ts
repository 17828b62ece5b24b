// Resources and prompts of tool servers as people use them: found, read, downloaded, filled in; and nothing of what a server sends runs.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { ConsoleWorld } from '../support/browser/console-world.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { eventually } from '../support/eventually.js';
import { type OfferingServer, startOfferingServer } from '../support/offering-server.js';
import { looks } from '../support/browser/test-browser.js';
import { verifies } from '../verifies.js';

const suite = `offers${noChromium === undefined ? '' : ` (${noChromium})`}`;
/** A name has no white space. */
const markup = '<img/src=x/onerror=alert(1)>';

describe.skipIf(noChromium !== undefined)(suite, () => {
  let library: OfferingServer;
  let world: ConsoleWorld;

  beforeAll(async () => {
    library = await startOfferingServer();
    library.changes.prompt(markup);
    world = await ConsoleWorld.open(
      {
        policy: { default: 'allow', rules: [{ name: 'secret', resource: 'library/doc://secret/*', effect: 'deny' }] },
        mcpServers: { library: { url: library.url } },
      },
      { root: { scopes: ['admin', 'tools', 'chat'] }, ada: { scopes: ['tools', 'chat'] }, eve: { scopes: ['chat'] } },
    );
    await eventually(async () => (await world.api('ada').offers.prompts()).data.length === 2, 30_000);
  });
  afterAll(async () => {
    await world?.close();
    await library?.close();
  });

  verifies('console.offers', 'a resource is found, read and downloaded; a picture is shown', async () => {
    const person = await world.asPerson('ada');
    const { page } = person;
    await person.open('tools?tab=resources');
    const row = (name: string) => page.getByRole('row').filter({ hasText: name });
    await row('doc://readme').waitFor();
    expect(await row('doc://secret/plan').count()).toBe(0);
    await page.getByLabel('Name, description or URI').fill('readme');
    await row('doc://pixel').waitFor({ state: 'detached' });
    await row('doc://readme').click();
    await page.waitForURL(/resource=doc/);
    const reader = page.getByRole('region', { name: 'Read it' });
    await reader.getByRole('button', { name: 'Read', exact: true }).click();
    await reader.getByText('Read me, says library').waitFor();
    const downloaded = page.waitForEvent('download');
    await reader.getByRole('button', { name: 'Download' }).click();
    expect((await downloaded).suggestedFilename()).toBe('readme');
    await person.open('tools?tab=resources&resource=doc%3A%2F%2Fpixel');
    await reader.getByRole('button', { name: 'Read', exact: true }).click();
    await reader.getByRole('img').waitFor();
    await person.leave();
  });

  verifies('console.offers', 'a URI is read by hand, and a refusal is shown with its code', async () => {
    const person = await world.asPerson('ada', { expected: /404/ });
    const { page } = person;
    await person.open('tools?tab=resources');
    const byHand = page.getByRole('region', { name: 'Read a URI' });
    await byHand.getByLabel('URI').fill('library://pages/12');
    await byHand.getByRole('button', { name: 'Read', exact: true }).click();
    await byHand.getByText('Page 12').waitFor();
    await byHand.getByLabel('URI').fill('doc://secret/plan');
    await byHand.getByRole('button', { name: 'Read', exact: true }).click();
    await byHand.getByText('not_found').waitFor();
    await person.leave();
  });

  verifies('console.offers', 'a prompt is filled in with proposals of its server; markup in one is text', async () => {
    const person = await world.asPerson('ada');
    const { page } = person;
    await person.open('tools?tab=prompts&prompt=review');
    const form = page.getByRole('region', { name: 'Get it' });
    await form.getByText('Fill in every required field.').waitFor();
    await form.getByLabel(/^language/).fill('p');
    await form.locator('option[value="perl"]').waitFor({ state: 'attached' });
    await form.getByLabel(/^language/).fill('perl');
    await form.getByRole('button', { name: 'Get', exact: true }).click();
    await form.getByText('Review this perl, library').waitFor();
    await form.getByRole('link', { name: 'Use in chat' }).click();
    const message = page.getByRole('group', { name: 'Message' });
    await message.getByText('review', { exact: true }).waitFor();
    await message.getByRole('textbox').fill('Go on');
    await message.getByRole('button', { name: 'Send' }).click();
    // The offline model answers from what the prompt became.
    await page.getByRole('article', { name: 'You' }).getByText('review', { exact: true }).waitFor();
    await eventually(async () => library.asked.filter((each) => each === 'prompts/get perl').length === 2);
    await person.open(`tools?tab=prompts&prompt=${encodeURIComponent(markup)}`);
    await form.getByRole('button', { name: 'Get', exact: true }).click();
    await form.getByText(markup).waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    await person.leave();
  });

  verifies('console.offers', 'a key without the scope tools is told so', async () => {
    const person = await world.asPerson('eve', { expected: /403/ });
    await person.open('tools?tab=resources');
    await person.page.getByText('This view needs the scope “tools”').waitFor();
    expect(await person.page.getByRole('row').count()).toBe(0);
    await person.leave();
  });

  for (const language of ['en', 'zh'] as const) {
    verifies('console.accessible', `offers, ${language}`, async () => {
      for (const { theme, width } of looks[language]) {
        const person = await world.asPerson('root', { language, theme, width });
        for (const [name, path, text] of [
          ['resources', 'tools?tab=resources', 'doc://readme'],
          ['resource', 'tools?tab=resources&resource=doc%3A%2F%2Freadme', 'About doc://readme'],
          ['prompt', 'tools?tab=prompts&prompt=review', 'language'],
        ] as const) {
          await person.open(path);
          await person.page.getByText(text).first().waitFor();
          await person.expectAccessible();
          await person.expectNoOverflow();
          await person.picture(`${name}-${language}-${theme}-${width}`);
        }
        await person.leave();
      }
    });
  }
});
