// A Signalbox whose tool servers ask models, of both eras and over several transports.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { Started } from './services/start-process.js';
import type { Signalbox, SignalboxOptions } from './services/start-signalbox.js';
import { fixture } from './tool-servers.js';
import { offeredTools } from './tools-client.js';

export interface ThinkingBox<Part extends Started> extends Signalbox<Part> {
  closeAll(): Promise<void>;
}

const listening = async (name: string) => {
  const server = spawn(process.execPath, [fixture(name), '--http']);
  const [port] = (await once(server.stdout, 'data')) as [Buffer];
  return { server, address: `http://127.0.0.1:${port.toString().trim()}/mcp` };
};
const renamed = (to: string, from: string) => ({ tools: { include: [from], rename: { [from]: to } } });

export const thinkers = ['think', 'think_http', 'think_new', 'think_new_http'];

/** `start` decides whether it has processes of its own. */
export async function startThinkingBox<Part extends Started>(
  start: (options: SignalboxOptions) => Promise<Signalbox<Part>>,
  options: SignalboxOptions,
): Promise<ThinkingBox<Part>> {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-sampling-'));
  const [old, modern] = await Promise.all([listening('old-sdk'), listening('new-sdk')]);
  const http: ChildProcessWithoutNullStreams[] = [old.server, modern.server];
  const sampling = true;
  const mcpServers = {
    old: { command: 'node', args: [fixture('old-sdk')], sampling, ...renamed('think', 'think') },
    oldHttp: { url: old.address, sampling, ...renamed('think_http', 'think') },
    consulted: { url: old.address, sampling, tools: { include: ['consult'] } },
    modern: { command: 'node', args: [fixture('new-sdk')], sampling, ...renamed('think_new', 'think_modern') },
    modernHttp: { url: modern.address, sampling, ...renamed('think_new_http', 'think_modern') },
    brief: { url: old.address, sampling, timeout_ms: 1_500, max_timeout_ms: 1_500, ...renamed('think_brief', 'think') },
    limited: {
      url: old.address,
      sampling: { models: ['small'], max_tokens: 5 },
      ...renamed('think_limited', 'think'),
    },
    refused: { url: old.address, ...renamed('think_refused', 'think') },
    refusedNew: { url: modern.address, ...renamed('think_new_refused', 'think_modern') },
  };
  const file = join(directory, 'signalbox.yaml');
  writeFileSync(file, JSON.stringify({ models: { aliases: { small: 'scripted/small-1' } }, mcpServers }));
  const box = await start({ ...options, environment: { ...options.environment, SIGNALBOX_CONFIG: file } });
  await vi.waitFor(
    async () =>
      expect([...(await offeredTools(box.url)).keys()]).toEqual(expect.arrayContaining([...thinkers, 'consult'])),
    { timeout: 25_000, interval: 100 },
  );
  return {
    ...box,
    closeAll: async () => {
      await box.close();
      for (const server of http) server.kill('SIGKILL');
      rmSync(directory, { recursive: true });
    },
  };
}

/** What each sampling of a call was answered. */
export const thoughtsIn = (text: string): JsonObject[] => JSON.parse(text.slice(text.indexOf('['))) as JsonObject[];

export const userText = (text: string) => ({ role: 'user', content: { type: 'text', text } });
