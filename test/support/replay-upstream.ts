// Test support: the recordings of providers that lie beside the checkout, and the server that replays them. They are used
// where they are; suites skip themselves by name where they are not.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Json } from '#libs/schemas/json.js';

export interface ExpectedAnswer {
  text: string;
  reasoning: string;
  tool_calls: { name: string; arguments: Json }[];
  finish_reason: string;
  usage?: Record<string, number>;
  /** Of a recorded failure. */
  error_status?: number;
  retry_after_s?: number;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const shared = [process.env['SHARED_DIR'], join(root, '../shared'), join(root, '../../shared')].find(
  (path) => path !== undefined && existsSync(join(path, 'recordings/expected.json')),
);

/** Undefined where there are none. */
export const recordings = shared === undefined ? undefined : join(shared, 'recordings');

/** By file: `openai/deepseek-text.json`. */
export const expectedAnswers =
  recordings === undefined
    ? {}
    : (JSON.parse(readFileSync(join(recordings, 'expected.json'), 'utf8')) as Record<string, ExpectedAnswer>);

/** `split`: bytes of each piece that it writes; absent: whole frames. */
export async function startReplay(split?: string): Promise<{ origin: string; close(): void }> {
  if (shared === undefined || recordings === undefined) throw new Error('there are no recordings');
  const server = spawn(process.execPath, [join(shared, 'tools/replay-upstream.mjs'), recordings], {
    env: { ...process.env, ...(split !== undefined && { SPLIT: split }) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await new Promise<string>((resolve, reject) => {
    server.stdout.once('data', (line: Buffer) => resolve(line.toString().trim()));
    server.once('exit', () => reject(new Error('the replay server ended')));
  });
  return { origin: `http://127.0.0.1:${port}`, close: () => void server.kill('SIGKILL') };
}
