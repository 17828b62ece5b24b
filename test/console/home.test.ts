// Home as a person uses it: a fresh gateway, one that has worked, one without workers.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { eventually } from '../support/eventually.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { type Person, TestBrowser } from '../support/browser/test-browser.js';
import { post, rounds, workspaceTools } from '../support/scripts.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const suite = `Home${noChromium === undefined ? '' : ` (${noChromium})`}`;
const chat = '/api/chat/completions';

interface Overview {
  running_turns: number;
  waiting: { approvals: number };
  hours: { hour: string; requests: number; tool_failures: number }[];
}

describe.skipIf(noChromium !== undefined)(suite, () => {
  let box: SignalboxHere;
  let browser: TestBrowser;

  beforeAll(async () => {
    const reads = rounds({ toolCalls: [{ name: 'read_file', arguments: { path: 'missing.txt' } }] }, { text: 'Gone' });
    box = await startSignalboxHere({
      script: (request, number) =>
        typeof reads === 'function' && request.body['tools'] !== undefined ? reads(request, number) : { text: 'Hello' },
    });
    browser = await TestBrowser.open(box.url);
  });
  afterAll(async () => {
    await browser?.close();
    await box?.close();
  });

  const overview = async () => (await (await fetch(`${box.url}/api/overview`)).json()) as Overview;
  const section = ({ page }: Person, name: string) => page.getByRole('region', { name });

  verifies('console.home', 'a fresh gateway shows the next step: the chat, the base URL, a command', async () => {
    const person = await browser.asPerson();
    await person.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const { page } = person;
    await person.open();
    await section(person, 'Waits for a person').getByText('Nobody has to decide anything.').waitFor();
    await section(person, 'What is wrong').getByText('Nothing is wrong.').waitFor();
    const steps = section(person, 'Nothing was asked in the last 24 hours');
    expect(await steps.getByRole('link', { name: 'Try the chat' }).getAttribute('href')).toContain('/console/chat');
    await steps.getByText(`${box.url}/v1`, { exact: true }).waitFor();
    await steps.getByRole('button', { name: 'Copy' }).last().click();
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    const [, body] = /-d '(.+)'$/.exec(command)!;
    const answer = await post(box.url, '/v1/chat/completions', JSON.parse(body!));
    expect(command).toContain(`curl ${box.url}/v1/chat/completions`);
    expect(answer.status).toBe(200);
    await person.leave();
  });

  verifies('console.home', 'what waits, what runs and the last day, each with a link to its rows', async () => {
    await post(box.url, chat, { messages: [{ role: 'user', content: 'read' }], tools: [workspaceTools] });
    await post(box.url, chat, {
      messages: [{ role: 'user', content: 'read' }],
      tools: [{ ...workspaceTools, require_approval: 'always' }],
    });
    const asked = ({ hours }: Overview) => hours.reduce((sum, { requests }) => sum + requests, 0);
    const failed = ({ hours }: Overview) => hours.reduce((sum, { tool_failures: failures }) => sum + failures, 0);
    await eventually(async () => asked(await overview()) === 3 && failed(await overview()) === 1);
    const { hours, waiting } = await overview();
    const person = await browser.asPerson();
    const { page } = person;
    await person.open();
    const waits = section(person, 'Waits for a person').getByRole('link');
    expect(await waits.textContent()).toBe(`${waiting.approvals} approval`);
    expect(await waits.getAttribute('href')).toContain('/console/approvals');
    const day = section(person, 'Last 24 hours');
    await day.getByRole('link', { name: 'Requests 3' }).waitFor();
    await day.getByRole('link', { name: 'Tool calls that failed 1 of 1 calls' }).waitFor();
    const plot = day.getByRole('figure', { name: 'Requests' });
    await plot.getByText('As a table').click();
    expect(await plot.getByRole('row').count()).toBe(1 + hours.length);
    expect(await plot.getByRole('row').last().getByRole('cell').textContent()).toBe(String(hours.at(-1)!.requests));
    await section(person, 'Now').getByRole('link', { name: 'Workers ready 1' }).waitFor();
    await day.getByRole('link', { name: /^95 of 100 turns within/ }).click();
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
    expect(new URL(page.url()).searchParams.get('since')).toBe(hours[0]!.hour);
    await person.leave();
  });

  verifies('console.accessible', 'Home in each form', async () => {
    for (const [language, theme, width] of [
      ['en', 'light', 1_280],
      ['zh', 'dark', 390],
    ] as const) {
      const person = await browser.asPerson({ language, theme, width });
      await person.open();
      await person.page.getByRole('figure').first().waitFor();
      await person.expectAccessible();
      await person.expectNoOverflow();
      await person.picture(`home-${language}-${theme}-${width}`);
      await person.leave();
    }
  });

  verifies(
    'console.home',
    'what is wrong is said in the language of the page, when it is looked at again',
    async () => {
      const person = await browser.asPerson({ language: 'zh' });
      await person.page.clock.install();
      await person.open();
      await section(person, '问题').getByText('一切正常。').waitFor();
      await box.workers[0]!.stop();
      await eventually(async () => {
        const { problems } = (await (await fetch(`${box.url}/api/overview`)).json()) as {
          problems: { code: string }[];
        };
        return problems.some(({ code }) => code === 'no_workers');
      }, 30_000);
      await person.page.clock.fastForward(15_000);
      await section(person, '问题').getByText('没有工作进程在运行：工具无法运行。').waitFor();
      await person.leave();
    },
  );
});
