// Sessions as people use it: files of any name and kind seen, sent, fetched and deleted.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { ConsoleWorld, statusOfCall } from '../support/browser/console-world.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { looks, type Person } from '../support/browser/test-browser.js';
import { verifies } from '../verifies.js';

const suite = `sessions${noChromium === undefined ? '' : ` (${noChromium})`}`;
const dot = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const script = '<script>document.title="run"</script>';
const hostile = {
  [`${script.replaceAll('/', '_')}.html`]: script,
  '\u202egpj.exe': 'reversed',
  'line\nend.txt': 'two lines',
  [`${'n'.repeat(251)}.txt`]: 'long',
  'drawing.svg': `<svg xmlns="http://www.w3.org/2000/svg" onload="document.title='run'"/>`,
};

describe.skipIf(noChromium !== undefined)(suite, () => {
  let world: ConsoleWorld;

  beforeAll(async () => {
    world = await ConsoleWorld.open(
      { workspaces: { max_bytes: 2_000_000 } },
      {
        root: { scopes: ['admin', 'files', 'chat', 'tools'] },
        ada: { scopes: ['files', 'chat'] },
        eve: { scopes: ['files', 'chat'] },
        clerk: { scopes: ['tools'] },
      },
    );
    const files = {
      'notes/plan.md': '# Plan\n\nSome **bold** text ![far](https://far.example/x.png) <img src=x onerror=alert(1)>',
      'notes/data.json': '{"name": "demo", "list": [1, 2]}',
      'dot.png': dot,
      'paper.pdf': '%PDF-1.4\n%%EOF',
      'raw.bin': Buffer.from([0, 1, 2, 255]),
      'long.txt': 'x'.repeat(1_100_000),
      ...hostile,
    };
    for (const [path, content] of Object.entries(files)) {
      await world.api('ada').files.upload({
        sessionId: 'desk',
        path,
        content: typeof content === 'string' ? content : new Uint8Array(content),
      });
    }
  });
  afterAll(() => world?.close());

  const paths = async () => (await world.api('ada').files.list('desk')).files.map(({ path }) => path);
  const rowOf = ({ page }: Person, name: string) => page.getByRole('row').filter({ hasText: name });
  const openFile = async (person: Person, name: string) => {
    await rowOf(person, name).first().click();
    return person.page.getByRole('complementary');
  };

  verifies('console.sessions', 'the list, quota and previews of each kind', async () => {
    const person = await world.asPerson('ada');
    const { page } = person;
    await person.open('sessions');
    await rowOf(person, 'desk').click();
    await page.getByRole('heading', { name: 'Sessions: desk' }).waitFor();
    await page.getByText('of 10,000 files').waitFor();
    await (await openFile(person, 'plan.md')).getByRole('heading', { name: 'Plan' }).waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    await (await openFile(person, 'data.json')).getByText('"demo"').waitFor();
    await (await openFile(person, 'dot.png')).getByRole('img', { name: 'Image dot.png' }).waitFor();
    await (await openFile(person, 'raw.bin')).getByText('no preview').waitFor();
    await (await openFile(person, 'long.txt')).getByText('The first 1MB of 1.1MB.').waitFor();
    const pdf = (await openFile(person, 'paper.pdf')).getByRole('link', { name: 'Open in the browser' });
    expect(await pdf.getAttribute('href')).toMatch(/^blob:/);
    await person.leave();
  });

  verifies('console.sessions', 'names and contents that try to do something are shown and do nothing', async () => {
    const person = await world.asPerson('ada');
    const { page } = person;
    await person.open('sessions/desk');
    await rowOf(person, '⟨U+202E⟩gpj.exe').waitFor();
    await rowOf(person, 'line⟨U+000A⟩end.txt').waitFor();
    await rowOf(person, 'nnnnnnnnnn').waitFor();
    await (await openFile(person, '.html')).getByText(script).waitFor();
    await (await openFile(person, 'drawing.svg')).getByText('<svg').waitFor();
    expect(await page.locator('main img, iframe, object, embed').count()).toBe(0);
    expect(await page.title()).not.toBe('run');
    await person.expectNoOverflow();
    await person.leave();
  });

  verifies(
    'console.sessions',
    'upload into a directory, overwriting asks, too large is said, download, delete',
    async () => {
      const person = await world.asPerson('ada', { expected: /412/ });
      const { page } = person;
      await person.open('sessions/desk?path=notes');
      await page.getByText('Uploads go to notes.').waitFor();
      const pick = (...files: [string, string][]) =>
        page
          .locator('input[type=file]')
          .setInputFiles(files.map(([name, text]) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) })));
      const uploads = page.getByRole('region', { name: 'Uploads' });
      await pick(['new.txt', 'new'], ['data.json', '{}'], ['huge.txt', 'y'.repeat(1_500_000)]);
      await uploads.getByRole('listitem', { name: 'notes/new.txt' }).getByText('uploaded').waitFor();
      await uploads.getByRole('listitem', { name: 'notes/huge.txt' }).getByText('Larger than').waitFor();
      const there = uploads.getByRole('listitem', { name: 'notes/data.json' });
      await there.getByText('A file of this name exists.').waitFor();
      const text = async (path: string) => (await world.api('ada').files.download({ sessionId: 'desk', path })).text();
      expect(await text('notes/data.json')).toContain('demo');
      await there.getByRole('button', { name: 'Overwrite' }).click();
      await there.getByText('uploaded').waitFor();
      expect([await text('notes/data.json'), await text('notes/new.txt')]).toEqual(['{}', 'new']);
      expect(await paths()).not.toContain('notes/huge.txt');

      const panel = await openFile(person, 'new.txt');
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        panel.getByRole('button', { name: 'Download' }).click(),
      ]);
      expect([saved.suggestedFilename(), readFileSync(await saved.path(), 'utf8')]).toEqual(['new.txt', 'new']);
      const [archive] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download all' }).click(),
      ]);
      expect([archive.suggestedFilename(), readFileSync(await archive.path(), 'latin1')]).toMatchObject([
        'desk.tar',
        expect.stringContaining('notes/plan.md'),
      ]);
      await panel.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
      await rowOf(person, 'new.txt').waitFor({ state: 'detached' });
      expect(await paths()).not.toContain('notes/new.txt');
      await person.leave();
    },
  );

  verifies(
    'console.sessions',
    'two principals see nothing of each other; administrators see whose there are',
    async () => {
      const eve = await world.asPerson('eve', { expected: /404/ });
      await eve.open('sessions');
      await eve.page.getByText('There is no session yet').waitFor();
      await eve.open('sessions/desk');
      await eve.page.getByText('There is no such session').waitFor();
      await eve.leave();
      const root = await world.asPerson('root');
      await root.open('sessions');
      await root.page.getByLabel('Owners').selectOption('*');
      await rowOf(root, 'desk').getByText('ada').waitFor();
      await root.leave();
      const clerk = await world.asPerson('clerk', { expected: /403/ });
      await clerk.open('sessions');
      await clerk.page.getByText('You may not see this').waitFor();
      await clerk.leave();
    },
  );

  for (const language of ['en', 'zh'] as const) {
    verifies('console.accessible', `sessions, ${language}`, async () => {
      for (const { theme, width } of looks[language]) {
        const person = await world.asPerson('ada', { language, theme, width });
        await person.open('sessions');
        await rowOf(person, 'desk').waitFor();
        await person.expectAccessible();
        await person.picture(`sessions-${language}-${theme}-${width}`);
        await person.open('sessions/desk?path=notes%2Fplan.md');
        await person.page.getByRole('heading', { name: 'Plan', exact: true }).waitFor();
        await person.expectAccessible();
        await person.expectNoOverflow();
        await person.picture(`session-${language}-${theme}-${width}`);
        await person.leave();
      }
    });
  }

  verifies('console.sessions', 'a session is deleted when that was said twice', async () => {
    const person = await world.asPerson('ada');
    const { page } = person;
    await person.open('sessions/desk');
    await page.getByRole('button', { name: 'Delete session' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect(await paths()).toContain('dot.png');
    await page.getByRole('button', { name: 'Delete session' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete session' }).click();
    await page.getByText('There is no session yet').waitFor();
    expect(await statusOfCall(world.api('ada').sessions.get('desk'))).toBe(404);
    await person.leave();
  });
});
