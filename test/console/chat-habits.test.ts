// What people are used to in a chat: dropped and pasted files, input methods, two tabs, a browser that is full.
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { noChromium } from '../support/browser/find-chromium.js';
import { apiJson, ChatPerson, plan } from '../support/browser/chat-person.js';
import { patienceMs, type PersonOptions, TestBrowser } from '../support/browser/test-browser.js';
import { messagesOf } from '../support/scripts.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const suite = `habits of a chat${noChromium === undefined ? '' : ` (${noChromium})`}`;

describe.skipIf(noChromium !== undefined)(suite, () => {
  let box: SignalboxHere;
  let browser: TestBrowser;
  beforeAll(async () => {
    box = await startSignalboxHere({ script: plan({}) });
    browser = await TestBrowser.open(box.url);
  });
  afterAll(async () => {
    await browser?.close();
    await box?.close();
  });

  const somebody = async (options: PersonOptions = {}) => {
    const me = new ChatPerson(await browser.asPerson(options));
    await me.open();
    return me;
  };
  const lastSaid = () => messagesOf(box.upstream.requests.at(-1)!).at(-1)!['content'];
  /** A script of the page that makes an event with this file, at what `selector` finds. */
  const giving = (event: string, selector: string, name: string, content: string) => `{
    const given = new DataTransfer();
    given.items.add(new File([${JSON.stringify(content)}], ${JSON.stringify(name)}, { type: 'text/plain' }));
    document.querySelector(${JSON.stringify(selector)}).dispatchEvent(${event});
  }`;
  const drop = "new DragEvent('drop', { dataTransfer: given, bubbles: true, cancelable: true })";
  const paste = "new ClipboardEvent('paste', { clipboardData: given, bubbles: true, cancelable: true })";

  verifies('console.chat.habits', 'files that are dropped, and pasted', async () => {
    // The name is taken: the second file gets another.
    const me = await somebody({ expected: /status of 412/ });
    await me.message().fill('Look at these');
    await me.page.evaluate(giving(drop, 'textarea', '菜单 v1.txt', 'soup'));
    await me.button('Do not mention 菜单 v1.txt').waitFor();
    await me.page.evaluate(giving(paste, 'textarea', '菜单 v1.txt', 'bread'));
    await me.button('Do not mention 菜单 v1-2.txt').waitFor();
    expect(await me.message().inputValue()).toBe('Look at these');
    await me.message().press('Enter');
    await me.answer('You said').waitFor();
    expect(lastSaid()).toContain('菜单 v1-2.txt');
    const files = `/api/sessions/${me.session()}/files`;
    expect(JSON.stringify(await apiJson(box.url, files))).toMatch(
      /菜单 v1\.txt.*菜单 v1-2\.txt|菜单 v1-2\.txt.*菜单 v1\.txt/,
    );
    const read = await fetch(`${box.url}${files}/${encodeURIComponent('菜单 v1-2.txt')}`);
    expect(await read.text()).toBe('bread');
    await me.person.leave();
  });

  verifies('console.chat.habits', 'the Enter of an input method chooses its words, the next one sends', async () => {
    const me = await somebody();
    const keyboard = await me.person.context.newCDPSession(me.page);
    await me.message().focus();
    await keyboard.send('Input.imeSetComposition', { text: 'nihao', selectionStart: 5, selectionEnd: 5 });
    const enter = { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13 };
    // The input method takes the key: the field gets no line break of it.
    await keyboard.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...enter });
    await keyboard.send('Input.dispatchKeyEvent', { type: 'keyUp', ...enter });
    await keyboard.send('Input.insertText', { text: '你好' });
    await vi.waitFor(async () => expect(await me.message().inputValue()).toBe('你好'), { timeout: patienceMs });
    expect(await me.page.getByRole('article').count()).toBe(0);
    await me.page.keyboard.press('Shift+Enter');
    await me.page.keyboard.insertText('世界');
    await me.page.keyboard.press('Enter');
    await me.answer('You said').waitFor();
    expect(lastSaid()).toBe('你好\n世界');
    await me.person.leave();
  });

  verifies('console.chat.habits', 'one conversation in two tabs', async () => {
    const me = await somebody();
    await me.say('In the first tab');
    await me.answer('In the first tab').waitFor();
    const session = me.session();
    const there = new ChatPerson(me.person.in(await me.person.context.newPage()));
    await there.open(session);
    await there.answer('In the first tab').waitFor();
    await me.say('Again in the first');
    await there.answer('Again in the first').waitFor();
    await there.say('Now in the second');
    await me.answer('Now in the second').waitFor();
    expect(messagesOf(box.upstream.requests.at(-1)!)).toHaveLength(5);
    await me.page.reload();
    for (const said of ['In the first tab', 'Again in the first', 'Now in the second']) await me.answer(said).waitFor();
    await me.person.leave();
  });

  verifies('console.chat.habits', 'a browser without room', async () => {
    const me = await somebody();
    const storage = await me.person.context.newCDPSession(me.page);
    await storage.send('Storage.overrideQuotaForOrigin', { origin: box.url, quotaSize: 1 });
    await me.say('x'.repeat(100_000));
    await me.page.getByRole('alert').getByText('The storage of this browser is full').waitFor();
    await me.answer('You said').waitFor();
    await storage.send('Storage.overrideQuotaForOrigin', { origin: box.url });
    await me.say('And now?');
    await me.answer('And now?').waitFor();
    await me.page.getByRole('alert').waitFor({ state: 'detached' });
    await me.person.leave();
  });
});
