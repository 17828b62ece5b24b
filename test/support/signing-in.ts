// A Signalbox with a tool server that takes only callers that have signed in, and how tests sign in there.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, vi } from 'vitest';
import { openBacking } from '#libs/backing/open-backing.js';
import { silentLogger } from '#libs/logging/logger.js';
import { TurnClocks } from '#libs/metrics/turn-clocks.js';
import { openDatabase } from '#libs/postgres/open-database.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { WaitAnnouncements } from '#libs/waits/wait-announcements.js';
import { WaitStore } from '#libs/waits/wait-store.js';
import { type WaitPorts, Waits } from '../../apps/gateway/govern/waits.js';
import { messagesOf, rounds } from './scripts.js';
import type { Started } from './services/start-process.js';
import type { Signalbox, SignalboxOptions } from './services/start-signalbox.js';
import { offeredTools } from './tools-client.js';

export const hubTools = [{ type: 'mcp', server_label: 'hub' }];
export const user = (content: string) => ({ role: 'user' as const, content });
const hub = fileURLToPath(new URL('../fixtures/own-tools/hub.mjs', import.meta.url));
/** The servers' offers are published by another process. */
const patient = { timeout: 20_000, interval: 100 };

export type SigningIn<Part extends Started> = Awaited<ReturnType<typeof startSigningIn<Part>>>;

/** `start` decides whether it has processes of its own. The model calls `tool`, then reports the result. */
export async function startSigningIn<Part extends Started>(
  start: (options: SignalboxOptions) => Promise<Signalbox<Part>>,
  options: SignalboxOptions & { rules?: object[] } = {},
) {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-sign-ins-'));
  const file = join(directory, 'signalbox.yaml');
  writeFileSync(file, JSON.stringify({ policy: { rules: options.rules ?? [] } }));
  const called = { tools: ['push'] };
  const box = await start({
    ...options,
    environment: { SIGNALBOX_CONFIG: file, WORKER_MODULES: JSON.stringify([hub]), ...options.environment },
    script: (request, number) => {
      const calls = called.tools.map((name, at) => ({ id: `call_${at}`, name, arguments: { word: `${name}${at}` } }));
      const script = rounds({ toolCalls: calls }, (second) => ({
        text: `Result: ${messagesOf(second).at(-1)!['content'] as string}`,
      }));
      return (script as (...given: unknown[]) => never)(request, number);
    },
  });
  const database = openDatabase({ url: box.databaseUrl, poolSize: 2, timeoutMs: 5_000, applicationName: 'consent' });
  const backing = await openBacking({
    databaseUrl: box.databaseUrl,
    ...(box.redis === undefined ? {} : { redisUrl: box.redis.url }),
  });
  const store = new WaitStore(database);
  const waits = new Waits({
    store,
    announcements: new WaitAnnouncements({ store, channels: backing.channels, logger: silentLogger }),
    webhook: undefined,
    clocks: new TurnClocks(),
    onDecided: () => undefined,
    onEnded: () => undefined,
    logger: silentLogger,
    // Nobody decides here.
  } satisfies Partial<WaitPorts> as unknown as WaitPorts);
  const fileOf = (session: string, path: string) => `${box.gateways.at(-1)!.url}/api/sessions/${session}/files/${path}`;
  await vi.waitFor(async () => {
    for (const { url } of box.gateways) expect([...(await offeredTools(url)).keys()]).toContain('push');
  }, patient);
  return {
    box,
    waits,
    called,
    /** The server takes the caller from now on; calls that wait are not told. */
    giveToken: async (session: string) => {
      expect((await fetch(fileOf(session, 'token'), { method: 'PUT', body: 'token' })).ok).toBe(true);
    },
    /** What somebody does in a browser. */
    signIn: async (session: string, principal = 'local') => {
      expect((await fetch(fileOf(session, 'token'), { method: 'PUT', body: 'token' })).ok).toBe(true);
      await waits.connected(principal, 'hub');
    },
    /** What the tools did, a word a run. */
    ranIn: async (session: string): Promise<string[]> => {
      const answer = await fetch(fileOf(session, 'ran.txt'));
      return answer.status === 200 ? (await answer.text()).trim().split('\n') : [];
    },
    wait: async (id: string) =>
      (await (await fetch(`${box.gateways.at(-1)!.url}/api/approvals/${id}`)).json()) as JsonObject,
    close: async () => {
      await backing.close();
      await database.close();
      await box.close();
      rmSync(directory, { recursive: true });
    },
  };
}
