// Approvals as people use it: by card, by keys and by link, several of them at once.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Approval } from '../../clients/typescript/src/index.js';
import { ConsoleWorld } from '../support/browser/console-world.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { looks, type Person } from '../support/browser/test-browser.js';
import { fixture } from '../support/tool-servers.js';
import { verifies } from '../verifies.js';

const suite = `approvals${noChromium === undefined ? '' : ` (${noChromium})`}`;
const override = '\u202e';

describe.skipIf(noChromium !== undefined)(suite, () => {
  let world: ConsoleWorld;

  beforeAll(async () => {
    world = await ConsoleWorld.open(
      {
        policy: {
          rules: [
            { name: 'never', tool: '*/write_file', arguments: [{ path: '$.path', prefix: 'etc/' }], effect: 'deny' },
            { name: 'writes', tool: '*/write_file', effect: 'require_approval', reason: 'Writes a <b>file</b>' },
          ],
        },
        mcpServers: {
          workspace: { builtin: 'workspace' },
          asking: { command: 'node', args: [fixture('old-sdk')], tools: { include: ['book'] } },
        },
      },
      {
        root: { scopes: ['admin', 'tools', 'files', 'chat'] },
        ada: { scopes: ['tools', 'files'] },
        eve: { scopes: ['tools'] },
        boss: { scopes: ['chat'], roles: ['approver'] },
      },
    );
  });
  afterAll(() => world?.close());

  const ask = async (path: string, content = 'one', owner = 'ada'): Promise<Approval> => {
    const answer = await world
      .api(owner)
      .tools.call({ name: 'write_file', arguments: { path, content }, session_id: 'desk' });
    if (!('approval' in answer)) throw new Error('the call did not wait');
    return answer.approval;
  };
  const cards = ({ page }: Person) => page.getByRole('main').getByRole('article');
  const cardOf = (person: Person, text: string) => cards(person).filter({ hasText: text });
  const decided = (id: string) => world.api('root').approvals.get(id);

  verifies('console.approvals', 'nothing waits; then a card comes by itself, and is approved', async () => {
    const person = await world.asPerson('boss');
    const { page } = person;
    await person.open('approvals');
    await page.getByText('Nothing waits for a person').waitFor();
    await page.getByText('effect: require_approval').waitFor();
    const first = await ask('a.txt', '<img src=x onerror=alert(1)>');
    const card = cardOf(person, 'a.txt');
    await card.getByText('<img src=x onerror=alert(1)>').waitFor();
    for (const shown of ['ada', 'Writes a <b>file</b>', 'writes', 'desk']) {
      await card.getByText(shown, { exact: true }).first().waitFor();
    }
    expect(await card.getByRole('timer').textContent()).toMatch(/\d+m \d+s left/);
    await card.getByRole('button', { name: 'Approve', exact: true }).click();
    await card.getByText('Approved by you').waitFor();
    expect(await decided(first.id)).toMatchObject({ state: 'approved', decided_by: 'boss', edited: false });
    await person.leave();
  });

  verifies(
    'console.approvals',
    'by keys: j, k, d with a reason, e with a diff, a; oldest first',
    async () => {
      const ids: string[] = [];
      for (const name of ['one', 'two', 'three']) ids.push((await ask(`keys-${name}.txt`)).id);
      const person = await world.asPerson('root', { expected: /422/ });
      const { page } = person;
      await person.open('approvals');
      await cards(person).nth(2).waitFor();
      expect(await cards(person).allTextContents()).toMatchObject(
        ['one', 'two', 'three'].map((name) => expect.stringContaining(`keys-${name}.txt`)),
      );
      const selected = page.locator('article[aria-current="true"]');
      await page.keyboard.press('j');
      await selected.getByText('keys-one.txt').waitFor();
      await page.keyboard.press('j');
      await page.keyboard.press('k');
      await selected.getByText('keys-one.txt').waitFor();
      await page.keyboard.press('d');
      await page.getByLabel('Reason').fill('not today');
      await selected.getByRole('button', { name: 'Deny', exact: true }).click();
      await page.getByText('Denied by you').waitFor();
      expect(await decided(ids[0]!)).toMatchObject({ state: 'denied', decision_reason: 'not today' });

      await page.keyboard.press('j');
      await selected.getByText('keys-two.txt').waitFor();
      await page.keyboard.press('e');
      await selected.getByLabel('path').fill('etc/passwd');
      await selected.getByLabel('Changes').getByText('etc/passwd').waitFor();
      await selected.getByRole('button', { name: 'Approve', exact: true }).click();
      await selected.getByRole('alert').getByText('tool_denied').waitFor();
      await selected.getByLabel('path').fill('two-edited.txt');
      await selected.getByRole('button', { name: 'Approve', exact: true }).click();
      await page.getByText('with edited arguments').waitFor();
      expect(await decided(ids[1]!)).toMatchObject({
        state: 'approved',
        edited: true,
        arguments: { path: 'two-edited.txt' },
      });

      await page.keyboard.press('j');
      await selected.getByText('keys-three.txt').waitFor();
      await selected.getByText('two-edited.txt').waitFor();
      await page.keyboard.press('a');
      await expect.poll(async () => (await decided(ids[2]!)).state, { timeout: 20_000 }).toBe('approved');
      await person.leave();
    },
    120_000,
  );

  verifies('console.approvals', 'of two approvers the second learns who decided', async () => {
    const { id } = await ask('both.txt');
    const [first, second] = [await world.asPerson('root'), await world.asPerson('boss', { expected: /409/ })];
    await first.open(`approvals/${id}`);
    await second.open('approvals');
    await cardOf(second, 'both.txt').getByRole('button', { name: 'Deny', exact: true }).click();
    await first.page.getByRole('button', { name: 'Approve', exact: true }).click();
    await first.page.getByText(/^Approved by you ·/).waitFor();
    await cardOf(second, 'both.txt').getByText('root was faster.').waitFor();
    expect(await decided(id)).toMatchObject({ state: 'approved', decided_by: 'root' });
    await first.leave();
    await second.leave();
  });

  verifies('console.approvals', 'links to one that was decided, is unknown, or belongs to somebody else', async () => {
    const mine = await ask('mine.txt');
    const ada = await world.asPerson('ada');
    await ada.open(`approvals/${mine.id}`);
    await ada.page.getByRole('button', { name: 'Deny', exact: true }).click();
    await ada.page.getByRole('button', { name: 'Deny', exact: true }).click();
    await ada.page.getByText('Denied by you').waitFor();
    await ada.leave();
    const eve = await world.asPerson('eve', { expected: /404/ });
    for (const id of [mine.id, 'appr_000000000000000000000000']) {
      await eve.open(`approvals/${id}`);
      await eve.page.getByText('There is no such approval for you').waitFor();
    }
    await eve.open('approvals?state=approved,denied,expired,cancelled');
    await eve.page.getByText('No call was decided about').waitFor();
    await eve.leave();
    const boss = await world.asPerson('boss');
    await boss.open('approvals');
    await boss.page.getByRole('tab', { name: 'Decided' }).click();
    await boss.page.getByRole('row').filter({ hasText: 'denied' }).filter({ hasText: 'ada' }).first().click();
    await boss.page.getByText('Denied by ada').waitFor();
    await boss.leave();
  });

  verifies('console.approvals', 'a question of a tool server is answered by its form', async () => {
    const answer = await world.api('ada').tools.call({ name: 'book', arguments: {}, session_id: 'desk' });
    if (!('approval' in answer)) throw new Error('nothing was asked');
    const person = await world.asPerson('ada');
    const { page } = person;
    await person.open(`approvals/${answer.approval.id}`);
    await page.getByText('Who travels? (1)').waitFor();
    await page.getByRole('button', { name: 'Answer' }).click();
    await page.getByText('Fill this in').waitFor();
    await page.getByLabel('name').fill('Ada');
    await page.getByLabel('seats').fill('2');
    await page.getByRole('button', { name: 'Answer' }).click();
    await page.getByText('Answered by you').waitFor();
    expect(await decided(answer.approval.id)).toMatchObject({ kind: 'question', state: 'approved' });
    await person.leave();
  });

  for (const language of ['en', 'zh'] as const) {
    verifies('console.accessible', `approvals, ${language}`, async () => {
      const { id } = await ask(`${override}gpj.${language}.exe`);
      for (const { theme, width } of looks[language]) {
        const person = await world.asPerson('boss', { language, theme, width });
        await person.open('approvals');
        await cardOf(person, `⟨U+202E⟩gpj.${language}.exe`).first().waitFor();
        await person.page.keyboard.press('j');
        await person.page
          .getByRole('button', { name: language === 'en' ? 'Edit' : '编辑', exact: true })
          .first()
          .waitFor();
        await person.expectAccessible();
        await person.expectNoOverflow();
        await person.picture(`approvals-${language}-${theme}-${width}`);
        if (width === 390) {
          for (const name of language === 'en' ? ['Approve', 'Deny', 'Edit'] : ['批准', '拒绝', '编辑']) {
            const button = cardOf(person, `gpj.${language}.exe`).getByRole('button', { name, exact: true });
            expect((await button.boundingBox())!.height).toBeGreaterThanOrEqual(36);
          }
          await person.leave();
        }
      }
      await world.api('root').approvals.decide(id, { decision: 'deny' });
    });
  }
});
