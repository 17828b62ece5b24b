// `npm run bench -- --console 1000000`: the console on a store of so many runs, in Debian's Chromium: what a first visit loads, how
// long each view takes after a click, a run of 5,000 events, a long list that is scrolled, and what an hour in an open tab leaves.
import { type CDPSession, chromium, type Page } from 'playwright-core';
import { chromiumPath } from '../test/support/browser/find-chromium.js';
import { fillCalls, fillRounds, fillRuns } from '../test/support/many-runs.js';
import { querying, type System } from './system.js';

const views = [
  'Home',
  'Chat',
  'Runs',
  'Approvals',
  'Tools',
  'Sessions',
  'Policy',
  'Keys',
  'Usage',
  'Audit',
  'Models',
  'Settings',
];
const eventsOfTheLongRun = 5_000;
/** Newer than all others. */
const longRun = `run_${(Date.now() + 600_000).toString(16).padStart(12, '0')}${'7'.padEnd(20, '0')}`;
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
flags.push('--disable-component-update', '--disable-sync', '--enable-precise-memory-info');
const waitMs = 30_000;

/** Home asks again after 15 seconds. */
const looksAnHour = 240;

const fillEvents = `
  insert into run_events (run_id, first_n, last_n, events)
  select $1, burst * 100 + 1, burst * 100 + 100, (
    select json_agg(json_build_object('n', n, 'event', json_build_object(
      'type', case n % 2 when 0 then 'content' else 'reasoning' end, 'text', 'piece ' || n)))
    from generate_series(burst * 100 + 1, burst * 100 + 100) n)
  from generate_series(0, $2::int / 100 - 1) burst`;
const addLongRun = `
  insert into runs (id, principal, session_id, request_id, request_hash, dialect, detached, request, state, created_at, ended_at,
    usage, model, asked, highest_event)
  values ($1, 'local', 'session-1', 'req', '', 'events', false, '{"messages":[]}', 'done', now(), now(),
    '{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}', 'model-1', 'a long answer', $2)`;

export async function measureConsole({ gateway: { url }, databaseUrl }: System, runs: number): Promise<void> {
  if (chromiumPath === undefined)
    throw new Error('needs Chromium: apt-get install chromium-headless-shell fonts-noto-cjk');
  await querying(databaseUrl, async (client) => {
    await client.query(fillRuns, [Date.now() - runs * 1_000, runs]);
    await client.query(fillRounds);
    await client.query(fillCalls);
    await client.query(addLongRun, [longRun, eventsOfTheLongRun]);
    await client.query(fillEvents, [longRun, eventsOfTheLongRun]);
    await client.query('vacuum analyze');
  });
  await measureOverview(`${url}/api/overview`);
  const browser = await chromium.launch({ executablePath: chromiumPath, args: flags });
  try {
    const context = await browser.newContext({ viewport: { width: 1_280, height: 900 }, locale: 'en-US' });
    context.setDefaultTimeout(waitMs);
    const page = await context.newPage();
    await page.goto(`${url}/console/`);
    await isReady(page, 'Home');
    print('first load, JavaScript and CSS, kB', (await page.evaluate<number>(loadedBytes)) / 1_000, 200);
    await measureViews(page);
    await measureLongRun(page, url);
    await measureScrolling(page, url, runs);
    await measureOpenTab(page, url, await context.newCDPSession(page));
  } finally {
    await browser.close();
  }
}

function print(what: string, value: number, goal: number): void {
  console.log(`${what}: ${value.toFixed(1)} (goal ≤ ${goal}: ${value <= goal ? 'met' : 'missed'})`);
}

const median = (took: number[]): number => took.toSorted((one, other) => one - other)[Math.floor(took.length / 2)]!;

async function measureOverview(address: string): Promise<void> {
  const took: number[] = [];
  for (let time = 0; time < 50; time += 1) {
    const began = performance.now();
    await (await fetch(address)).json();
    took.push(performance.now() - began);
  }
  print('overview, median of 50, ms', median(took), 20);
  console.log(`overview, longest of 50, ms: ${Math.max(...took).toFixed(1)}`);
}

const loadedBytes = `performance.getEntriesByType('resource').filter(({ name }) => /\\.(js|css)$/.test(name))
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`;

/** The heading is there, and nothing says that it loads. */
async function isReady(page: Page, heading: string): Promise<void> {
  const main = page.getByRole('main');
  await main.getByRole('heading', { level: 1, name: heading }).waitFor();
  await main.getByText('Loading', { exact: false }).waitFor({ state: 'detached' });
}

/** Each view twice: the first click also loads its code. */
async function measureViews(page: Page): Promise<void> {
  const links = page.getByRole('navigation').getByRole('link');
  const built = (await links.allInnerTexts()).map((text) => text.trim().split('\n')[0]!);
  for (const name of views.filter((view) => built.includes(view))) {
    const took: number[] = [];
    for (let time = 0; time < 2; time += 1) {
      await page
        .getByRole('navigation')
        .getByRole('link', { name: name === 'Home' ? 'Runs' : 'Home' })
        .click();
      await isReady(page, name === 'Home' ? 'Runs' : 'Home');
      const began = performance.now();
      await page.getByRole('navigation').getByRole('link', { name }).click();
      await isReady(page, name);
      took.push(performance.now() - began);
    }
    print(
      `${name}, first and second click, ms: ${took.map((ms) => ms.toFixed(0)).join(', ')}; longest`,
      Math.max(...took),
      1_000,
    );
  }
}

/** From the click on its line to its timeline, and from the click on its events to their rows. */
async function measureLongRun(page: Page, url: string): Promise<void> {
  const took: Record<'opens' | 'events', number[]> = { opens: [], events: [] };
  for (let time = 0; time < 3; time += 1) {
    await page.goto(`${url}/console/runs`);
    await isReady(page, 'Runs');
    const line = page.getByRole('row').filter({ has: page.getByRole('checkbox', { name: `Choose run ${longRun}` }) });
    await line.waitFor();
    const began = performance.now();
    await line.getByRole('link').first().click();
    await isReady(page, 'Run');
    await page.getByRole('tab', { name: 'Timeline' }).waitFor();
    took.opens.push(performance.now() - began);
    const opened = performance.now();
    await page.getByRole('tab', { name: 'Events' }).click();
    await page.getByRole('row').filter({ hasText: 'piece' }).first().waitFor();
    took.events.push(performance.now() - opened);
  }
  const times = (what: number[]) => what.map((ms) => ms.toFixed(0)).join(', ');
  print(`a run of ${eventsOfTheLongRun} events opens, ms: ${times(took.opens)}; median`, median(took.opens), 300);
  print(`its events, ms: ${times(took.events)}; median`, median(took.events), 300);
  await frames(page, 'its events');
}

async function measureScrolling(page: Page, url: string, runs: number): Promise<void> {
  await page.goto(`${url}/console/runs`);
  await isReady(page, 'Runs');
  const rows = () =>
    page.evaluate<number>("Number(document.querySelector('[aria-rowcount]')?.getAttribute('aria-rowcount'))");
  const wanted = Math.min(runs, 1_000);
  while ((await rows()) < wanted) {
    await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight)');
    await page.mouse.wheel(0, 2_000);
  }
  await page.evaluate('window.scrollTo(0, 0)');
  await frames(page, `a list of ${await rows()} rows`);
}

/** Scrolls for two seconds of frames, and counts frames that took longer than two, and those without a row in the window. */
async function frames(page: Page, what: string): Promise<void> {
  const counted = await page.evaluate<{ frames: number; late: number; blank: number }>(`new Promise((done) => {
    const counted = { frames: 0, late: 0, blank: 0 };
    let last = performance.now();
    const frame = (now) => {
      counted.frames += 1;
      if (now - last > 34) counted.late += 1;
      last = now;
      const seen = document.elementsFromPoint(window.innerWidth / 2, window.innerHeight - 60);
      if (!seen.some((each) => each.closest('[role=row]') !== null)) counted.blank += 1;
      window.scrollBy(0, 40);
      if (counted.frames === 120) done(counted); else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  })`);
  console.log(`${what}, scrolled for ${counted.frames} frames: ${counted.late} late, ${counted.blank} without a row`);
}

/** The page's clock goes ahead; what the page does in that hour, it does. */
async function measureOpenTab(page: Page, url: string, session: CDPSession): Promise<void> {
  await page.clock.install();
  await page.goto(`${url}/console/`);
  await isReady(page, 'Home');
  const look = async () => {
    const answered = page.waitForResponse((answer) => answer.url().endsWith('/api/overview'));
    await page.clock.fastForward(15_000);
    await answered;
  };
  for (let time = 0; time < 10; time += 1) await look();
  const before = await usedMegabytes(session);
  for (let time = 0; time < looksAnHour; time += 1) await look();
  print('an hour in an open tab (Home), MB more', (await usedMegabytes(session)) - before, 10);
}

async function usedMegabytes(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize / 1_000_000;
}
