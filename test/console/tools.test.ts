// Tools as people use it: what may be called, a call with its progress, what waits for an approval, servers and changed definitions.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { ConsoleWorld } from '../support/browser/console-world.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { looks, type Person } from '../support/browser/test-browser.js';
import { eventually } from '../support/eventually.js';
import { fixture } from '../support/tool-servers.js';
import { verifies } from '../verifies.js';

const suite = `tools${noChromium === undefined ? '' : ` (${noChromium})`}`;
const markup = '<img src=x onerror=alert(1)>';
const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe.skipIf(noChromium !== undefined)(suite, () => {
  let world: ConsoleWorld;

  beforeAll(async () => {
    world = await ConsoleWorld.open(
      {
        policy: {
          rules: [
            {
              name: 'drafts',
              tool: 'workspace/write_file',
              arguments: [{ path: '$.path', prefix: 'drafts/' }],
              effect: 'allow',
            },
            { name: 'asks', tool: 'workspace/write_file', effect: 'require_approval', reason: 'Writes' },
            { name: 'hidden', tool: 'workspace/move_file', effect: 'deny' },
          ],
        },
        toolsets: { sums: ['old/*', 'workspace/read_file'], review: ['workspace/*'] },
        mcpServers: {
          workspace: { builtin: 'workspace' },
          old: { command: 'node', args: [fixture('old-sdk')], tools: { include: ['add'] } },
          rough: {
            command: 'node',
            args: [fixture('hostile')],
            scope: 'shared',
            tools: { include: ['changeTools', 'echo', 'raw', 'brandNew'] },
          },
          broken: { command: 'no-such-program-anywhere' },
        },
      },
      {
        root: { scopes: ['admin', 'tools', 'files', 'chat'] },
        ada: { scopes: ['tools', 'files'] },
      },
    );
    await eventually(async () => {
      const names = new Set((await world.api('ada').tools.list()).map((tool) => tool.function.name));
      return ['add', 'echo', 'read_file'].every((name) => names.has(name));
    }, 30_000);
  });
  afterAll(() => world?.close());

  const rowOf = ({ page }: Person, name: string) => page.getByRole('row').filter({ hasText: name });
  const resultOf = ({ page }: Person) => page.getByRole('status', { name: 'Result' });
  const call = ({ page }: Person) => page.getByRole('button', { name: 'Call', exact: true }).click();

  verifies('console.tools', 'filters, verdicts, and a call with its result as JSON and as curl', async () => {
    const person = await world.asPerson('ada');
    const { page } = person;
    await person.open('tools');
    await rowOf(person, 'write_file').getByText('needs approval').waitFor();
    await rowOf(person, 'read_file').getByText('allowed').waitFor();
    expect(await rowOf(person, 'move_file').count()).toBe(0);
    expect(await page.getByRole('tab', { name: 'Servers' }).count()).toBe(0);
    await page.getByLabel('Server').selectOption('old');
    await rowOf(person, 'read_file').waitFor({ state: 'detached' });
    await rowOf(person, 'add').click();
    await page.waitForURL(/tool=add/);
    await call(person);
    await page.getByText('Fill this in').first().waitFor();
    const form = page.getByRole('region', { name: 'Call it' });
    await form.getByLabel(/^a /).fill('2');
    await form.getByLabel(/^b /).fill('3');
    await page.getByText('This call would run at once').waitFor();
    await call(person);
    await resultOf(person).getByText('succeeded').waitFor();
    await resultOf(person).getByText('5', { exact: true }).waitFor();
    await resultOf(person).getByRole('tab', { name: 'JSON' }).click();
    await resultOf(person).getByText('sum').waitFor();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toContain(`-d '{"name":"add","arguments":{"a":2,"b":3}}'`);
    expect(copied).toContain('$SIGNALBOX_KEY');
    await person.leave();
  });

  verifies('toolsets.listed', 'the console: a filter that the address keeps, in both languages', async () => {
    const person = await world.asPerson('ada');
    const { page } = person;
    await person.open('tools?toolset=sums');
    await rowOf(person, 'add').waitFor();
    await page.getByText('2 tools ·').waitFor();
    await page.getByLabel('Toolset').selectOption('review');
    await page.waitForURL(/toolset=review/);
    await rowOf(person, 'write_file').waitFor();
    expect(await rowOf(person, 'add').count()).toBe(0);
    await page.getByLabel('Toolset').selectOption('In a toolset or not');
    await rowOf(person, 'echo').waitFor();
    expect(page.url()).not.toContain('toolset');
    await person.open('tools?toolset=gone');
    await page.getByText('No tool matches these filters.').waitFor();
    expect(await page.getByLabel('Toolset').inputValue()).toBe('gone');
    await person.leave();
    const other = await world.asPerson('ada', { language: 'zh' });
    await other.open('tools?toolset=sums');
    await rowOf(other, 'add').waitFor();
    expect(await other.page.getByLabel('工具集').inputValue()).toBe('sums');
    await other.leave();
  });

  verifies('tools.cost', 'the console: the sum, of a server too, and the most expensive first', async () => {
    const data = await world.api('root').tools.list();
    const sumOf = (tools: typeof data) =>
      `${tools.reduce((sum, { tokens }) => sum + tokens, 0).toLocaleString('en')} tokens`;
    const dearest = data.toSorted((one, other) => other.tokens - one.tokens)[0]!;
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('tools');
    await page.getByText(`${data.length} tools · ${sumOf(data)} in each model call`).waitFor();
    await page.getByLabel('Order').selectOption('Most tokens first');
    await page.waitForURL(/order=tokens/);
    expect(await page.getByRole('row').nth(1).textContent()).toContain(dearest.function.name);
    await page.getByLabel('Server').selectOption('old');
    const old = sumOf(data.filter(({ server }) => server === 'old'));
    await page.getByText(`1 tool · ${old}`).waitFor();
    await page.getByRole('tab', { name: 'Servers' }).click();
    const sum = old.replace(' tokens', '');
    await page.getByRole('article', { name: 'old' }).getByText(sum, { exact: true }).waitFor();
    await person.leave();
  });

  verifies('console.tools', 'the verdict of the call as it is typed', async () => {
    const person = await world.asPerson('ada');
    await person.open('tools?tool=write_file');
    const form = person.page.getByRole('region', { name: 'Call it' });
    await form.getByText('This call would wait for an approval (asks).', { exact: true }).waitFor();
    await form.getByLabel(/^path /).fill('drafts/a.txt');
    await form.getByText('This call would run at once (drafts).', { exact: true }).waitFor();
    await person.leave();
  });

  verifies('console.tools', 'markup, pictures and resources in a result do nothing but are shown', async () => {
    const person = await world.asPerson('ada');
    const { page } = person;
    await person.open('tools?tool=raw');
    const content = [
      { type: 'text', text: markup },
      { type: 'image', data: dot, mimeType: 'image/png' },
      { type: 'image', data: Buffer.from('<svg onload="alert(1)"/>').toString('base64'), mimeType: 'image/svg+xml' },
      { type: 'resource', resource: { uri: 'file:///a.html', text: '<script>document.title="run"</script>' } },
      { type: 'resource_link', uri: 'javascript:alert(1)', name: 'Press me' },
    ];
    await page.getByLabel('JSON').fill(JSON.stringify({ message: { result: { content } } }));
    await call(person);
    await resultOf(person).getByText(markup).waitFor();
    await resultOf(person).getByRole('img', { name: 'Image in the result' }).waitFor();
    await resultOf(person).getByText('javascript:alert(1)').waitFor();
    expect(await resultOf(person).locator('img').count()).toBe(1);
    expect(await resultOf(person).locator('a[href^="javascript"]').count()).toBe(0);
    await person.leave();
  });

  verifies('console.tools', 'a call that needs an approval goes on when somebody has decided', async () => {
    const person = await world.asPerson('ada');
    const { page } = person;
    await person.open('tools?tool=write_file');
    await page.getByText('This call would wait for an approval').waitFor();
    await page.getByLabel('path').fill('asked.txt');
    await page.getByLabel('content').fill('one');
    await page.getByLabel(/^Session/).fill('desk');
    await call(person);
    const link = page.getByRole('link', { name: 'Open the approval' });
    const id = (await link.getAttribute('href'))!.split('/').at(-1)!;
    await world.api('root').approvals.decide(id, { decision: 'approve' });
    await resultOf(person).getByText('succeeded').waitFor();
    const written = await world.api('ada').files.download({ sessionId: 'desk', path: 'asked.txt' });
    expect(await written.text()).toBe('one');
    await person.leave();
  });

  verifies('console.tools', 'servers with their state, and a changed definition that is accepted', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('tools?tab=servers');
    const server = (name: string) => page.getByRole('article', { name });
    await server('rough').getByText('ready', { exact: true }).first().waitFor();
    await server('rough').getByText('Keeps it from').waitFor();
    await server('broken').getByText('Why').waitFor();
    await server('old').getByText('Isolation').waitFor();
    await page.getByRole('tab', { name: 'Changes' }).click();
    await page.getByText('No definition waits for a decision').waitFor();
    const echo = { description: `echo ${markup}`, inputSchema: { type: 'object', required: ['secret'] } };
    await world.api('root').tools.call({ name: 'changeTools', arguments: { echo } });
    await eventually(async () => (await world.api('root').operations.toolChanges()).changes.length === 2, 30_000);
    await page.reload();
    const change = page.getByRole('article', { name: 'rough/echo' });
    await change.getByText('schema, arguments or annotations').waitFor();
    await change.getByText(markup).waitFor();
    await change.getByRole('button', { name: 'Accept' }).click();
    await change.waitFor({ state: 'detached' });
    const added = page.getByRole('article', { name: 'rough/brandNew' });
    await added.getByRole('button', { name: 'Reject' }).click();
    await added.getByText('rejected', { exact: true }).waitFor();
    const { changes } = await world.api('root').operations.toolChanges();
    expect(changes).toMatchObject([{ tool: 'brandNew', state: 'rejected' }]);
    await person.expectAccessible();
    await person.leave();
  });

  for (const language of ['en', 'zh'] as const) {
    verifies('console.accessible', `tools, ${language}`, async () => {
      for (const { theme, width } of looks[language]) {
        const person = await world.asPerson('root', { language, theme, width });
        for (const [name, path] of [
          ['tools', 'tools'],
          ['tool', 'tools?tool=write_file'],
          ['servers', 'tools?tab=servers'],
        ] as const) {
          await person.open(path);
          await person.page
            .getByText(name === 'servers' ? 'confined' : 'write_file')
            .first()
            .waitFor();
          await person.expectAccessible();
          await person.expectNoOverflow();
          await person.picture(`${name}-${language}-${theme}-${width}`);
        }
        await person.leave();
      }
    });
  }
});
