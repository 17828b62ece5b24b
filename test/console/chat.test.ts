// Chat as a person uses it, with the offline model and with one that follows a script.
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { noChromium } from '../support/browser/find-chromium.js';
import { apiJson, ChatPerson, gate, makeOwnerKey } from '../support/browser/chat-person.js';
import { chatScript } from '../support/browser/chat-script.js';
import { patienceMs, type PersonOptions, TestBrowser } from '../support/browser/test-browser.js';
import { freePort } from '../support/services/free-port.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { fixture } from '../support/tool-servers.js';
import { verifies } from '../verifies.js';

const suite = `chat in the console${noChromium === undefined ? '' : ` (${noChromium})`}`;
const patient = { timeout: patienceMs, interval: 100 };

describe.skipIf(noChromium !== undefined)(suite, () => {
  let box: Signalbox;
  let browser: TestBrowser;
  const slow = gate();
  const long = gate();
  const script = chatScript({ slow: slow.opened, long: long.opened, asked: () => box.upstream.requests });

  beforeAll(async () => {
    box = await startSignalbox({
      script,
      environment: {
        PORT: String(await freePort()),
        MCP_SERVERS: JSON.stringify({
          workspace: { builtin: 'workspace' },
          old: { command: 'node', args: [fixture('old-sdk')], tools: { include: ['book'] } },
        }),
      },
    });
    browser = await TestBrowser.open(box.url);
    await vi.waitFor(
      async () => expect(JSON.stringify(await apiJson(box.url, '/api/tools'))).toContain('"book"'),
      patient,
    );
  });
  afterAll(async () => {
    await browser?.close();
    await box?.close();
  });

  const somebody = async (options: PersonOptions = {}) => new ChatPerson(await browser.asPerson(options));

  verifies('console.chat.tour', 'in English on a screen, in Chinese on a phone', async () => {
    const en = await somebody();
    await en.open();
    await en.page.getByRole('combobox', { name: 'Model' }).selectOption('offline');
    await en.person.expectAccessible();
    await en.page.getByRole('button', { name: /^Write "milk/ }).click();
    await en.answer('Wrote 20 bytes').waitFor();
    const files = `/api/sessions/${en.session()}/files`;
    expect(JSON.stringify(await apiJson(box.url, files))).toContain('"list.txt"');
    await en.button('Read list.txt').click();
    await en.answer('Result of').getByText('milk, bread, 12 eggs').waitFor();
    await en.page.getByRole('button', { name: /^Delete list.txt/ }).click();
    await en.card('delete_file').getByRole('button', { name: 'Approve' }).waitFor();
    await en.person.expectAccessible();
    await en.person.picture('chat-en-light-1280');
    await en.button('Approve').click();
    await en.answer('Deleted list.txt').waitFor();
    expect(JSON.stringify(await apiJson(box.url, files))).not.toContain('"list.txt"');
    await en.person.leave();

    const zh = await somebody({ language: 'zh', theme: 'dark', width: 390, height: 800 });
    await zh.open();
    await zh.page.getByRole('combobox', { name: '模型' }).selectOption('offline');
    await zh.person.expectAccessible();
    await zh.page.getByRole('button', { name: /写到 list/ }).click();
    await zh.page.getByText('离线模型').first().waitFor();
    await zh.page.getByRole('button', { name: /^删除 list/ }).click();
    const deny = zh.button('拒绝');
    expect((await deny.boundingBox())!.height).toBeGreaterThanOrEqual(36);
    await zh.person.expectAccessible();
    await zh.person.expectNoOverflow();
    await zh.person.picture('chat-zh-dark-390');
    await deny.click();
    await zh.page.getByRole('textbox', { name: '理由' }).fill('还需要它');
    await deny.click();
    await zh.page.getByText('还需要它').last().waitFor();
    expect(JSON.stringify(await apiJson(box.url, `/api/sessions/${zh.session()}/files`))).toContain('"list.txt"');
    await zh.person.leave();
  });

  verifies('console.chat.streams', 'reasoning, a table and code, before the answer is complete', async () => {
    const me = await somebody();
    await me.open();
    await me.say('Plan it');
    await me.page.getByRole('heading', { name: 'Plan', exact: true }).waitFor();
    await me.button('Stop').waitFor();
    slow.open();
    await me.page.getByRole('cell', { name: '12' }).waitFor();
    await me.page.locator('pre').getByText('const answer = 42;').waitFor();
    await me.page.getByText('Reasoning', { exact: true }).click();
    await me.page.getByText('I count the eggs.').waitFor();
    // A plain chat is no run.
    expect(await me.page.getByRole('link', { name: 'Open run' }).count()).toBe(0);
    await me.button('Wire').click();
    await me.page.getByRole('complementary', { name: 'Wire' }).getByText('reasoning', { exact: true }).waitFor();
    await me.person.expectAccessible();
    await me.person.leave();
  });

  verifies('console.chat.request', 'what was chosen is what is sent, and copied', async () => {
    const me = await somebody();
    await me.person.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await me.open();
    await me.button('System prompt').click();
    await me.page.getByRole('textbox', { name: 'System prompt' }).fill("You're terse.");
    await me.button('Done').click();
    await me.choose('read_file');
    await me.say("Don't do it");
    await me.answer('You said').waitFor();
    const { body } = box.upstream.requests.at(-1)!;
    expect(body['messages']).toEqual([
      { role: 'system', content: "You're terse." },
      { role: 'user', content: "Don't do it" },
    ]);
    expect(JSON.stringify(body['tools'])).toContain('read_file');
    expect(JSON.stringify(body['tools'])).not.toContain('write_file');
    for (const [language, part] of [
      ['curl', String.raw`Don'\''t do it`],
      ['TypeScript', 'signalbox.stream({'],
      ['Python', 'extra_body={"session_id"'],
    ] as const) {
      await me.button(`Copy as ${language}`).click();
      await vi.waitFor(async () => {
        const copied = await me.page.evaluate<string>('navigator.clipboard.readText()');
        expect(copied).toContain(part);
        expect(copied).toContain('YOUR_API_KEY');
      }, patient);
    }
    // The next chat has its tools off.
    await me.button('New chat').click();
    await me.say('Hello');
    await me.answer('You said').waitFor();
    expect(box.upstream.requests.at(-1)!.body['tools']).toBeUndefined();
    await me.person.leave();
  });

  verifies('console.chat.asks', 'an edited call, a question of a tool server, a function of the person', async () => {
    const me = await somebody();
    await me.open();
    await me.choose('write_file');
    await me.button('Tools').click();
    await me.page.getByRole('checkbox', { name: 'Ask first: write_file' }).check();
    await me.page.getByRole('checkbox', { name: 'old', exact: true }).check();
    await me.page.getByText('Your own functions').click();
    const weather = { type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } };
    await me.page.getByRole('textbox', { name: 'Your own functions' }).fill(JSON.stringify([weather]));
    await me.button('Done').click();

    await me.say('Write it');
    await me.card('write_file').getByRole('button', { name: 'Edit' }).click();
    await me.card('write_file').getByLabel('content').fill('second');
    await me.card('write_file').getByRole('button', { name: 'Approve' }).click();
    await me.answer('Written.').waitFor();
    expect(await (await fetch(`${box.url}/api/sessions/${me.session()}/files/a.txt`)).text()).toBe('second');

    await me.say('Book it');
    const card = me.card('book');
    await card.getByText('The tool asks').waitFor();
    await card.getByLabel(/name/i).fill('Ada');
    await me.person.expectAccessible();
    await card.getByRole('button', { name: 'Answer', exact: true }).click();
    await me.answer('Booked.').waitFor();

    await me.say('What is the weather?');
    await me.card('get_weather').getByRole('textbox', { name: 'Result' }).fill('sunny');
    await me.button('Send the result').click();
    await me.answer('It is sunny.').waitFor();
    expect(await me.page.getByRole('article', { name: 'Assistant' }).count()).toBe(4);
    await me.person.leave();
  });

  verifies('console.chat.branches', 'a message edited, an answer asked for again', async () => {
    const me = await somebody();
    await me.open();
    await me.say('One');
    await me.answer('You said: "One"').waitFor();
    const asked = me.page.getByRole('article', { name: 'You' });
    await asked.getByRole('button', { name: 'Edit' }).click();
    await me.page.getByRole('textbox', { name: 'Edit the message' }).fill('Two');
    await me.button('Send as a new branch').click();
    await me.answer('You said: "Two"').waitFor();
    await me.button('Ask again').click();
    await me.page.getByText('2 of 2').nth(1).waitFor();
    await asked.getByRole('button', { name: 'Previous branch' }).click();
    await me.answer('You said: "One"').waitFor();
    await me.page.reload();
    await me.answer('You said: "One"').waitFor();
    await me.page.getByText('1 of 2').waitFor();
    await me.person.leave();
  });

  verifies('console.chat.hostile', 'in an answer, a call, the name of a file, and a line of 5 MB', async () => {
    const me = await somebody();
    await me.open();
    await me.choose('write_file');
    await me.say('Be hostile');
    await me.page.locator('main a[href="http://203.0.113.1/tracker.png"]').waitFor();
    await me.button('Files').click();
    await me.page.getByRole('complementary', { name: 'Files' }).getByText('⟨U+202E⟩gpj.exe').waitFor();
    const found = await me.page.evaluate<{ hurt: boolean; media: number; links: (string | null)[]; text: string }>(`({
      hurt: 'hurt' in window,
      media: document.querySelectorAll('main :is(img, script, iframe)').length,
      links: [...document.querySelectorAll('main a')].map((link) => link.getAttribute('href')),
      text: document.querySelector('main').textContent,
    })`);
    expect(found).toMatchObject({ hurt: false, media: 0 });
    expect(found.links.filter((href) => /^javascript:/i.test(href ?? ''))).toEqual([]);
    expect(found.links).toContain('http://203.0.113.1/tracker.png');
    expect(found.text).not.toContain('\u202E');
    await me.say('A long line');
    await me.page.getByRole('button', { name: /^Show more/ }).waitFor();
    await me.button('Ask again').last().waitFor();
    await me.person.expectNoOverflow();
    await me.person.leave();
  });

  verifies('console.chat.stops', 'and a turn that failed is tried again', async () => {
    const me = await somebody({ expected: /status of 502/ });
    await me.open();
    await me.say('Go on and on');
    await me.answer('On and').waitFor();
    await me.message().fill('typed meanwhile');
    await me.button('Stop').click();
    await me.answer('Stopped.').waitFor();
    await box.upstream.requests.at(-1)!.clientGone;
    expect(await me.message().inputValue()).toBe('typed meanwhile');
    await me.say('Fail once');
    await me.page.getByRole('alert').getByText('model_error').waitFor();
    await me.button('Try again').click();
    await me.answer('Better luck.').waitFor();
    await me.person.leave();
  });

  verifies('console.chat.resumes', 'a gateway killed and back, and the page loaded anew', async () => {
    const me = await somebody({ expected: /Failed to load|ERR_|net::/ });
    await me.open();
    await me.choose('write_file');
    await me.say('Tell a long story');
    await me.answer('Once upon a time').waitFor();
    const before = box.upstream.requests.length;
    await me.page.reload();
    await me.answer('Once upon a time').waitFor();
    expect(box.upstream.requests.length).toBe(before);
    box.gateways[0]!.kill('SIGKILL');
    await box.gateways[0]!.ended;
    await me.answer('The answer goes on').waitFor();
    await box.startGateway();
    long.open();
    await me.answer('there was an end.').waitFor();
    const calls = await box.rows<{ count: string }>('SELECT count(*) FROM tool_calls WHERE session_id = $1', [
      me.session(),
    ]);
    expect(Number(calls[0]!.count)).toBe(1);
    await me.person.leave();
  });

  verifies('console.chat.kept', 'search, names, exports, drafts; and nothing of another principal', async () => {
    const me = await somebody();
    await me.open();
    await me.say('Remember the walrus');
    await me.answer('You said').waitFor();
    await me.message().fill('a draft');
    await me.button('New chat').click();
    await me.say('Remember the carpenter');
    await me.answer('You said').waitFor();
    const list = me.page.getByRole('navigation', { name: 'Conversations' });
    await me.page.getByRole('searchbox', { name: 'Search conversations' }).fill('walrus');
    await list.getByRole('link', { name: /carpenter/ }).waitFor({ state: 'detached' });
    await list.getByRole('link', { name: /walrus/ }).click();
    await vi.waitFor(async () => expect(await me.message().inputValue()).toBe('a draft'), patient);
    await me.button('More').click();
    await me.page.getByRole('menuitem', { name: 'Rename' }).click();
    await me.page.getByRole('textbox', { name: 'Name' }).fill('Sea animals');
    await me.button('Save').click();
    await list.getByRole('link', { name: /Sea animals/ }).waitFor();
    const save = async (item: string) => {
      const coming = me.page.waitForEvent('download');
      await me.button('More').click();
      await me.page.getByRole('menuitem', { name: item }).click();
      const stream = await (await coming).createReadStream();
      return Buffer.concat(await stream.toArray());
    };
    const exported = await save('Export as JSON');
    expect((await save('Export as Markdown')).toString()).toContain('# Sea animals\n\n## You\n\nRemember the walrus');
    await me.button('More').click();
    await me.page.getByRole('menuitem', { name: 'Delete' }).click();
    await me.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await list.getByRole('link', { name: /Sea animals/ }).waitFor({ state: 'detached' });
    await me.page.locator('input[type=file][accept*=json]').setInputFiles({
      name: 'kept.json',
      mimeType: 'application/json',
      buffer: exported,
    });
    await list.getByRole('link', { name: /Sea animals/ }).click();
    await me.answer('You said').waitFor();

    // Another principal in the same browser, once the gateway has keys.
    const alice = await makeOwnerKey(box.url, 'alice');
    const bob = await makeOwnerKey(box.url, 'bob', alice);
    const as = async (key: string) => {
      await me.page.evaluate(`sessionStorage.setItem('signalbox.key', '${key}')`);
      await me.open();
      await me.message().waitFor();
    };
    await as(alice);
    await list.getByText('What you write here').waitFor();
    await me.say('Only Alice knows');
    await me.answer('You said').waitFor();
    const session = me.session();
    await as(bob);
    await list.getByText('What you write here').waitFor();
    await me.open(session);
    await me.page.getByText('is not in this browser').waitFor();
    expect(await me.page.getByText('Only Alice knows').count()).toBe(0);
    await me.person.leave();
  });
});
