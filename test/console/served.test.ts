// How the gateway serves the console: its addresses, its policy, its size. The browser is behind a proxy with a path of its own.
import { readFileSync } from 'node:fs';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { noChromium } from '../support/browser/find-chromium.js';
import { TestBrowser } from '../support/browser/test-browser.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

let box: SignalboxHere;

beforeAll(async () => {
  box = await startSignalboxHere({ workers: 0 });
});
afterAll(() => box?.close());

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(box.url + path, { headers, redirect: 'manual' });

verifies('console.served', 'a browser at the address of the gateway is sent there, others are not', async () => {
  const browser = await get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
  expect([browser.status, browser.headers.get('location')]).toEqual([302, 'console/']);
  const program = await get('/');
  expect(program.status).toBe(404);
  expect(((await program.json()) as { error: { code: string } }).error.code).toBe('not_found');
  const bare = await get('/console');
  expect([bare.status, bare.headers.get('location')]).toEqual([302, 'console/']);
});

verifies(
  'console.served',
  'any address below has the page, which finds its files from there; a missing file is none',
  async () => {
    for (const [path, base] of [
      ['/console/', './'],
      ['/console/runs?state=failed', './'],
      ['/console/runs/run_1', '../'],
      ['/console/a/b/', '../../'],
    ] as const) {
      const answer = await get(path);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('cache-control')).toBe('no-cache');
      expect(await answer.text()).toContain(`<base href="${base}" />`);
    }
    const missing = await get('/console/assets/none.js');
    expect(missing.status).toBe(404);
    expect((await fetch(`${box.url}/console/`, { method: 'POST' })).status).toBe(405);
  },
);

verifies('console.policy', 'the headers of the page, and of its files', async () => {
  const page = await get('/console/');
  expect(page.headers.get('content-security-policy')).toBe(
    "default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'",
  );
  expect(page.headers.get('x-content-type-options')).toBe('nosniff');
  const script = /src="\.\/(assets\/[^"]+)"/.exec(await page.text())![1]!;
  const file = await get(`/console/${script}`, { 'accept-encoding': 'br' });
  expect(file.headers.get('cache-control')).toContain('immutable');
  expect(file.headers.get('content-encoding')).toBe('br');
});

verifies('console.budget', 'counted from what the page names', () => {
  const page = readFileSync('dist/console/index.html', 'utf8');
  const files = Array.from(page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.(?:js|css))"/g), ([, path]) => path!);
  expect(files.length).toBeGreaterThan(1);
  // Home and what it needs come with the first load too.
  const home = filesOf('views/home/home-view.tsx');
  const all = new Set([...files, ...home]);
  const bytes = [...all].map((path) => readFileSync(`dist/console/${path}.br`).length);
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(200_000);
});

verifies('console.served', 'not where it is off', async () => {
  const off = await box.startGateway({ CONSOLE_ENABLED: 'false' });
  const accept = { headers: { accept: 'text/html' } };
  expect((await fetch(`${off.url}/`, accept)).status).toBe(404);
  expect((await fetch(`${off.url}/console/`, accept)).status).toBe(404);
});

/** What Vite's manifest says of a source, and of all that it imports at once. */
function filesOf(source: string): string[] {
  type Entry = { file: string; css?: string[]; imports?: string[] };
  const manifest = JSON.parse(readFileSync('dist/console/.vite/manifest.json', 'utf8')) as Record<string, Entry>;
  const found = new Set<string>();
  const add = (name: string) => {
    const entry = manifest[name]!;
    if (found.has(entry.file)) return;
    found.add(entry.file);
    for (const css of entry.css ?? []) found.add(css);
    for (const each of entry.imports ?? []) add(each);
  };
  add(source);
  return [...found];
}

describe.skipIf(noChromium !== undefined)(`in a browser${noChromium === undefined ? '' : ` (${noChromium})`}`, () => {
  verifies('console.served', 'a deep link behind a proxy with a path, and the way on from there', async () => {
    const target = new URL(box.url);
    const proxy = createServer((incoming, outgoing) => {
      const path = incoming.url!.slice('/tools/signalbox'.length);
      const { method, headers } = incoming;
      const onward = send({ host: target.hostname, port: target.port, path, method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(outgoing);
      });
      incoming.pipe(onward);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/tools/signalbox`;
    const browser = await TestBrowser.open(url);
    try {
      const { page } = await browser.asPerson();
      await page.goto(`${url}/console/nowhere/at/all`);
      await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
      await page.getByRole('link', { name: 'Go to Home' }).click();
      await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
      expect(page.url()).toBe(`${url}/console/`);
    } finally {
      await browser.close();
      proxy.closeAllConnections();
      proxy.close();
    }
  });
});
