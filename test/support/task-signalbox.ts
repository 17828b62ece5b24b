// A Signalbox for tests of tasks: a web server holds its calls, a tool server asks, some calls need an approval.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { type HeldWeb, openHeldWeb } from './held-web.js';
import { listeningFixture } from './listening-fixture.js';
import type { Started } from './services/start-process.js';
import type { Signalbox, SignalboxOptions } from './services/start-signalbox.js';
import { offeredTools } from './tools-client.js';

export interface TaskSignalbox<Part extends Started> {
  box: Signalbox<Part>;
  web: HeldWeb;
  /** A call of `fetch` that ends once the path is answered. */
  held(path: string): { url: string; method: string };
  close(): Promise<void>;
}

export async function startTaskSignalbox<Part extends Started>(
  start: (options: SignalboxOptions) => Promise<Signalbox<Part>>,
  options: SignalboxOptions = {},
): Promise<TaskSignalbox<Part>> {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-as-tasks-'));
  const [web, asks] = await Promise.all([openHeldWeb(), listeningFixture('new-sdk')]);
  const rules = [
    { name: 'writes', tool: 'workspace/write_file', effect: 'require_approval', reason: 'Writes a file' },
    { name: 'all', tool: '*/*', effect: 'allow' },
  ];
  const mcpServers = {
    workspace: { builtin: 'workspace' },
    travel: { url: `${asks.address}/mcp`, tools: { include: ['book_modern', 'add'] } },
    forwarding: {
      url: `${asks.address}/mcp`,
      tools: { include: ['book_modern'], rename: { book_modern: 'book_forwarding' } },
      forward_headers: ['x-tenant'],
    },
  };
  const toolsets = { web: [{ tool: 'workspace/fetch', name: 'get_page' }] };
  const file = join(directory, 'signalbox.yaml');
  writeFileSync(file, JSON.stringify({ policy: { rules }, mcpServers, toolsets }));
  const box = await start({
    ...options,
    environment: { SIGNALBOX_CONFIG: file, TOOLS_FETCH_ALLOW: '127.0.0.1', ...options.environment },
  });
  await vi.waitFor(
    async () => {
      for (const { url } of box.gateways)
        expect([...(await offeredTools(url)).keys()]).toEqual(
          expect.arrayContaining(['book_modern', 'book_forwarding']),
        );
    },
    { timeout: 25_000, interval: 100 },
  );
  return {
    box,
    web,
    held: (path) => ({ url: `${web.url}${path}`, method: 'POST' }),
    close: async () => {
      await box.close();
      web.close();
      asks.close();
      rmSync(directory, { recursive: true });
    },
  };
}
