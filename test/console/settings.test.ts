// Settings as an operator reads it: searched, filtered, with origins, warnings, health and versions, and without a secret.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { ConsoleWorld } from '../support/browser/console-world.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { looks, type Person } from '../support/browser/test-browser.js';
import { verifies } from '../verifies.js';

const suite = `settings${noChromium === undefined ? '' : ` (${noChromium})`}`;
const markup = '<img src=x onerror=alert(1)>\u202e';

describe.skipIf(noChromium !== undefined)(suite, () => {
  let world: ConsoleWorld;

  beforeAll(async () => {
    world = await ConsoleWorld.open(
      {
        tools: { timeout_ms: 30_000 },
        models: {
          providers: {
            up: {
              kind: 'openai',
              base_url: 'http://127.0.0.1:9/v1',
              api_key: '${TEST_SETTINGS_KEY}',
              models: [markup],
            },
          },
          aliases: { lost: 'up/nothing' },
        },
      },
      { root: { scopes: ['admin'] }, ada: { scopes: ['chat', 'tools', 'files'] } },
      { TEST_SETTINGS_KEY: 'sk-canary-of-settings' },
    );
  });
  afterAll(async () => {
    await world?.close();
  });

  const row = ({ page }: Person, key: string) =>
    page.getByRole('listitem').filter({ has: page.getByText(key, { exact: true }) });

  verifies('console.settings', 'each with its value, default and origin, as the API has them', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('settings');
    await row(person, 'tools.timeout_ms').getByText('30000', { exact: true }).waitFor();
    await row(person, 'tools.timeout_ms').getByText('Default: 60000').waitFor();
    await row(person, 'tools.timeout_ms').getByText('file signalbox.yaml:1').waitFor();
    await row(person, 'models.providers.up.api_key').getByText('set', { exact: true }).waitFor();
    await row(person, 'metrics.token').getByText('not set', { exact: true }).waitFor();
    await row(person, 'server.keep_alive_ms').getByText('SERVER_KEEP_ALIVE_MS').waitFor();
    const { settings } = await world.api('root').operations.settings();
    await page.getByText(`${settings.length} of ${settings.length}`).waitFor();
    const content = await page.content();
    expect(content).not.toContain('sk-canary-of-settings');
    // A name with markup is text.
    await row(person, 'models.providers.up.models').getByText('<img src=x onerror=alert(1)>⟨U+202E⟩').waitFor();
    await person.leave();
  });

  verifies('console.settings', 'search, group and only what was changed, in the address', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('settings');
    await page.getByLabel('Only changed').check();
    await page.waitForURL(/changed=yes/);
    await row(person, 'server.keep_alive_ms').waitFor({ state: 'detached' });
    await page.getByLabel('Group').selectOption('tools');
    await page.waitForURL(/group=tools/);
    await row(person, 'models.providers.up.kind').waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'tools', exact: true }).waitFor();
    const { settings } = await world.api('root').operations.settings();
    const changed = settings.filter(({ group, origin }) => group === 'tools' && origin !== 'default');
    await page.getByText(`${changed.length} of ${settings.length}`).waitFor();
    await person.open('settings?text=SERVER_KEEP_ALIVE');
    await row(person, 'server.keep_alive_ms').waitFor();
    await page.getByText(`1 of ${settings.length}`).waitFor();
    await page.getByLabel('Search settings').fill('nothing has this name');
    await page.getByText('No setting matches').waitFor();
    await person.leave();
  });

  verifies('console.settings', 'warnings, health and versions', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('settings');
    const part = (name: string) => page.getByRole('region', { name });
    await part('Look at these').getByText('models.aliases.lost').waitFor();
    await part('Health').getByText('Database').waitFor();
    await part('Health').getByText('cannot be reached').waitFor();
    await part('Versions').getByText('2026-07-28').waitFor();
    await part('Versions').getByText(process.versions.node, { exact: true }).waitFor();
    const link = part('Documentation').getByRole('link', { name: 'API pages of this gateway' });
    expect(await link.getAttribute('href')).toBe(`${world.box.url}/docs/`);
    await page.getByText('npm run config -- check').waitFor();
    await person.leave();
  });

  verifies('console.settings', 'not for a key without admin', async () => {
    const person = await world.asPerson('ada');
    const { page } = person;
    await person.open('settings');
    await page.getByText('admin').first().waitFor();
    expect(await page.getByText('server.port').count()).toBe(0);
    await person.leave();
  });

  for (const language of ['en', 'zh'] as const) {
    verifies('console.accessible', `settings, ${language}`, async () => {
      for (const { theme, width } of looks[language]) {
        const person = await world.asPerson('root', { language, theme, width });
        await person.open('settings?group=models');
        await row(person, 'models.providers.up.api_key').waitFor();
        await person.expectAccessible();
        await person.expectNoOverflow();
        await person.picture(`settings-${language}-${theme}-${width}`);
        await person.leave();
      }
    });
  }
});
