// The policy as people use it: rules with their hits, a call explained, a draft with its mistakes, simulated and cancelled, rights that
// nobody used, and a rule drafted from an approval.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { ConsoleWorld } from '../support/browser/console-world.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { looks, type Person } from '../support/browser/test-browser.js';
import { eventually } from '../support/eventually.js';
import { verifies } from '../verifies.js';

const suite = `policy${noChromium === undefined ? '' : ` (${noChromium})`}`;
const markup = '<img src=x onerror=alert(1)>';

describe.skipIf(noChromium !== undefined)(suite, () => {
  let world: ConsoleWorld;

  beforeAll(async () => {
    world = await ConsoleWorld.open(
      {
        policy: {
          rules: [
            { name: 'no-deletions', tool: '*/delete_*', effect: 'deny', reason: markup },
            {
              name: 'corner',
              tool: 'workspace/write_file',
              arguments: [{ path: '$.path', prefix: 'tmp/' }],
              effect: 'allow',
            },
            { name: 'bobs', user: 'bob', effect: 'allow' },
            { name: 'asks', tool: 'workspace/write_file', effect: 'require_approval', reason: 'Writes' },
          ],
        },
      },
      {
        root: { scopes: ['admin', 'tools', 'files', 'chat'] },
        ada: { scopes: ['tools', 'files'] },
      },
    );
    await eventually(async () => (await world.api('ada').tools.list()).length > 5, 30_000);
    const call = (name: string, args: object) =>
      world
        .api('ada')
        .tools.call({ name, arguments: args as never, session_id: 'desk' })
        .catch(() => undefined);
    await call('write_file', { path: 'tmp/a', content: 'x', create_dirs: true });
    await call('delete_file', { path: 'tmp/a' });
    await call('delete_file', { path: 'tmp/b' });
    await call('write_file', { path: 'notes/a', content: markup });
    await eventually(async () => {
      const { rules } = await world.api('root').operations.policy.show();
      return rules[0]!.hits === 2 && rules[1]!.hits === 1;
    }, 20_000);
  }, 120_000);
  afterAll(() => world?.close());

  const editorOf = ({ page }: Person) => page.getByRole('textbox', { name: 'Draft' });

  verifies('console.policy-view', 'rules in order with hits that lead to their rows', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('policy');
    const rows = page.getByRole('table', { name: 'Rules' }).getByRole('row');
    await rows.filter({ hasText: 'no-deletions' }).getByText(markup).waitFor();
    expect(await rows.locator('strong').allTextContents()).toEqual(['no-deletions', 'corner', 'bobs', 'asks']);
    const hits = page.getByRole('link', { name: '2 calls decided by no-deletions' });
    await page.getByRole('heading', { name: 'When no rule matches' }).waitFor();
    await hits.click();
    await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor();
    await page.getByText('2 rows', { exact: true }).waitFor();
    expect(await page.getByRole('row').filter({ hasText: 'workspace/delete_file' }).count()).toBe(2);
    await person.leave();
  });

  verifies('console.policy-view', 'a call explained for somebody else, and by the draft', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('policy?tab=explain');
    await page.getByLabel('Tool required').fill('workspace/write_file');
    await page.getByLabel('path').fill('etc/a');
    await page.getByLabel('content').fill('x');
    await page.getByLabel('User').fill('eve');
    await page.getByRole('button', { name: 'Explain', exact: true }).click();
    const answer = page.getByRole('region', { name: 'Answer' });
    await answer.getByText('needs approval').waitFor();
    await answer.getByText('by the rule asks').waitFor();
    await answer.getByText('it is for the user bob').waitFor();
    await page.getByLabel('User').fill('bob');
    await page.getByRole('button', { name: 'Explain', exact: true }).click();
    await answer.getByText('by the rule bobs').waitFor();
    await person.leave();
  });

  verifies(
    'console.policy-view',
    'a key without admin explains its own calls, and sees no rule of others',
    async () => {
      const person = await world.asPerson('ada');
      const { page } = person;
      await person.open('policy?tool=workspace/write_file');
      await page.getByLabel('path').fill('etc/a');
      await page.getByLabel('content').fill('x');
      expect(await page.getByRole('tab').count()).toBe(0);
      expect(await page.getByLabel('User').count()).toBe(0);
      await page.getByRole('button', { name: 'Explain', exact: true }).click();
      const answer = page.getByRole('region', { name: 'Answer' });
      await answer.getByText('by the rule asks').waitFor();
      await answer.getByText('corner').waitFor();
      expect(await answer.getByText('bob').count()).toBe(0);
      await person.expectAccessible();
      await person.leave();
    },
  );

  verifies('console.policy-view', 'a draft: mistakes in place, simulated, copied, kept over a reload', async () => {
    const person = await world.asPerson('root', { expected: /400/ });
    const { page } = person;
    await person.open('policy?tab=draft');
    await editorOf(person).getByText('no-deletions').waitFor();
    await editorOf(person).fill('rules:\n  - { name: free, tool: workspace/delete_file, effect: maybe }\n');
    await page.getByRole('list', { name: 'Mistakes' }).getByText('Line 2, column 48:').waitFor();
    await page.locator('.cm-lintRange-error').waitFor();
    await page.getByRole('button', { name: 'Simulate' }).click();
    await page.getByRole('alert').getByText('invalid_value').waitFor();
    const draft = 'rules:\n  - { name: free, tool: workspace/delete_file, effect: allow }\n';
    await editorOf(person).fill(draft);
    await page.getByRole('list', { name: 'Mistakes' }).waitFor({ state: 'detached' });
    await page.reload();
    await editorOf(person).getByText('effect: allow').waitFor();
    await page.getByLabel('Period').selectOption('30');
    await page.waitForURL(/days=30/);
    await page.getByRole('button', { name: 'Simulate' }).click();
    const found = page.getByRole('region', { name: 'What would change' });
    await found.getByText('Would change').waitFor();
    const changes = found.getByRole('table', { name: 'What would change' }).getByRole('row').last();
    expect(await changes.textContent()).toMatch(/workspace\/delete_file.*refused.*allowed.*free.*2/);
    expect(await found.getByRole('table', { name: 'Calls' }).getByRole('row').count()).toBe(3);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(draft);
    await person.expectAccessible();
    await page.getByRole('tab', { name: 'Explain' }).click();
    // A tool that is denied to everybody is in nobody's catalog.
    await page.getByLabel('Tool required').fill('workspace/delete_file');
    await page.getByLabel('JSON').fill('{"path":"a"}');
    await page.getByLabel('Judge by the draft').check();
    await page.getByRole('button', { name: 'Explain', exact: true }).click();
    await page.getByRole('region', { name: 'Answer' }).getByText('by the rule free').waitFor();
    await page.getByRole('tab', { name: 'Draft' }).click();
    await page.getByRole('button', { name: 'Discard the draft' }).click();
    await editorOf(person).getByText('no-deletions').waitFor();
    await person.leave();
  });

  verifies('console.policy-view', 'rights never used, with a rule to copy', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('policy?tab=unused');
    const card = page.getByRole('article', { name: 'ada' });
    await card.getByText('workspace/move_file').waitFor();
    await page.getByRole('region', { name: 'Rules that decided no call' }).getByText('bobs').waitFor();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await card.getByRole('button', { name: 'Copy as a rule' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toContain('effect: deny');
    await person.leave();
  });

  verifies(
    'console.always-allow',
    'drafts a rule, simulates it, and opens the policy with it; nothing changes',
    async () => {
      const person = await world.asPerson('root');
      const { page } = person;
      await person.open('approvals');
      await page.getByRole('button', { name: 'Always allow…' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('This rule would stand before asks').waitFor();
      await dialog.getByText('In the last 30 days it would have decided 0 calls.').waitFor();
      await person.expectAccessible();
      await dialog.getByRole('button', { name: 'Open in Policy' }).click();
      await editorOf(person).getByText('allow-write_file').waitFor();
      const { rules } = await world.api('root').operations.policy.show();
      expect(rules.map(({ name }) => name)).toEqual(['no-deletions', 'corner', 'bobs', 'asks']);
      expect((await world.api('root').approvals.list({ state: 'waiting' })).data).toHaveLength(1);
      await person.leave();
    },
  );

  for (const language of ['en', 'zh'] as const) {
    verifies('console.accessible', `policy, ${language}`, async () => {
      for (const { theme, width } of looks[language]) {
        const person = await world.asPerson('root', { language, theme, width });
        for (const [tab, text] of [
          ['rules', 'no-deletions'],
          ['explain', 'JSON'],
          ['draft', 'no-deletions'],
          ['unused', 'workspace/move_file'],
        ] as const) {
          await person.open(`policy?tab=${tab}`);
          await person.page.getByText(text).first().waitFor();
          await person.expectAccessible();
          await person.expectNoOverflow();
          await person.picture(`policy-${tab}-${language}-${theme}-${width}`);
        }
        await person.leave();
      }
    });
  }
});
