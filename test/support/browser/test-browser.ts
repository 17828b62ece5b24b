// A browser for tests of the console: Debian's Chromium, which reaches nothing but this machine. Each person has a context of
// their own, and its page is watched: a request that leaves the origin and an error on the console fail the test.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { chromiumPath } from './find-chromium.js';

/** CI has two cores and other load. */
export const patienceMs = 30_000;

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];

export interface PersonOptions {
  /** Kept as the sign-in keeps it: the person is signed in from the start. */
  key?: string;
  language?: 'en' | 'zh';
  theme?: 'light' | 'dark';
  width?: number;
  height?: number;
  /** Errors of the browser's console that the test brings about, such as the answer 401. */
  expected?: RegExp;
  /** Other origins that the page may ask: the issuer of a sign-in. */
  origins?: readonly string[];
}

/**
 * In which themes and widths a view is looked at in a language: over both languages, every two of language, theme and width come
 * together once.
 */
export const looks = {
  en: [
    { theme: 'light', width: 390 },
    { theme: 'dark', width: 1_280 },
  ],
  zh: [
    { theme: 'dark', width: 390 },
    { theme: 'light', width: 1_280 },
  ],
} as const;

export class TestBrowser {
  private readonly persons: Person[] = [];

  private constructor(
    private readonly browser: Browser,
    private readonly url: string,
  ) {}

  /** `url`: of the gateway, or with the path of a proxy before it. */
  static async open(url: string): Promise<TestBrowser> {
    if (chromiumPath === undefined) throw new Error('there is no Chromium');
    const browser = await chromium.launch({ executablePath: chromiumPath, args: flags });
    return new TestBrowser(browser, url);
  }

  async asPerson(options: PersonOptions = {}): Promise<Person> {
    const { key, language = 'en', theme = 'light', width = 1_280, height = 900 } = options;
    const context = await this.browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      locale: language === 'zh' ? 'zh-CN' : 'en-US',
      hasTouch: width < 600,
    });
    context.setDefaultTimeout(patienceMs);
    if (key !== undefined) {
      // Once: a reload keeps the key that the person has by then. Documents that are blocked have no storage.
      await context.addInitScript(`try {
        if (sessionStorage.getItem('test.begun') === null) sessionStorage.setItem('signalbox.key', ${JSON.stringify(key)});
        sessionStorage.setItem('test.begun', 'yes');
      } catch {}`);
    }
    const person = new Person(context, await context.newPage(), this.url, options);
    this.persons.push(person);
    return person;
  }

  /** Fails if a page of a person had an error or asked somebody else. */
  async close(): Promise<void> {
    try {
      for (const person of this.persons) await person.leave();
    } finally {
      await this.browser.close();
    }
  }
}

export class Person {
  readonly errors: string[] = [];
  private hasLeft = false;

  constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    private readonly url: string,
    { expected, origins = [] }: PersonOptions,
  ) {
    const own = new Set([new URL(url).origin, ...origins]);
    const watch = (each: Page) => {
      each.on('pageerror', (error) => this.errors.push(`page: ${error.message}`));
      each.on('console', (message) => {
        const text = `${message.text()} ${message.location().url}`;
        if (message.type() === 'error' && expected?.test(text) !== true) this.errors.push(`console: ${text}`);
      });
    };
    watch(page);
    context.on('page', watch);
    context.on('request', (request) => {
      const address = new URL(request.url());
      if (/^https?:$/.test(address.protocol) && !own.has(address.origin)) this.errors.push(`left: ${request.url()}`);
    });
  }

  /** The same person in another tab. */
  in(page: Page): Person {
    return Object.assign(Object.create(this) as Person, { page });
  }

  /** `path`: below the console, without a slash at its beginning. Returns when the view is there. */
  async open(path = ''): Promise<void> {
    await this.page.goto(`${this.url}/console/${path}`);
    await this.page.getByRole('main').waitFor();
  }

  /** By axe: nothing serious. */
  async expectAccessible(): Promise<void> {
    const { violations } = await new AxeBuilder({ page: this.page }).analyze();
    const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    const shown = serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`);
    expect(shown).toEqual([]);
  }

  /** Nothing is wider than the window. */
  async expectNoOverflow(): Promise<void> {
    // Scripts of the page are texts: the types of a page are not those of the tests.
    const { scrollWidth, clientWidth } = await this.page.evaluate<{ scrollWidth: number; clientWidth: number }>(
      '({ scrollWidth: document.documentElement.scrollWidth, clientWidth: document.documentElement.clientWidth })',
    );
    expect(scrollWidth).toBeLessThanOrEqual(clientWidth);
  }

  /** As the browser says it when somebody comes back to the tab: what is shown is asked for again. */
  async comeBack(): Promise<void> {
    await this.page.evaluate("window.dispatchEvent(new Event('visibilitychange')), undefined");
  }

  /** With `SCREENSHOTS=directory` in the environment. */
  async picture(name: string): Promise<void> {
    const directory = process.env['SCREENSHOTS'];
    if (directory === undefined) return;
    mkdirSync(directory, { recursive: true });
    await this.page.screenshot({ path: join(directory, `${name}.png`), animations: 'disabled' });
  }

  async leave(): Promise<void> {
    if (this.hasLeft) return;
    this.hasLeft = true;
    await this.context.close();
    expect(this.errors).toEqual([]);
  }
}
