// Test support: the recorded provider answers beside the checkout, and the server that replays them. They are not copied;
// suites that need them are skipped by name if they are absent.
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
  /** Set for a recorded failure. */
  error_status?: number;
  retry_after_s?: number;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const shared = [process.env['SHARED_DIR'], join(root, '../shared'), join(root, '../../shared')].find(
  (path) => path !== undefined && existsSync(join(path, 'recordings/expected.json')),
);

/** Undefined if there are none. */
export const recordings = shared === undefined ? undefined : join(shared, 'recordings');

/** By file: `openai/deepseek-text.json`. */
export const expectedAnswers =
  recordings === undefined
    ? {}
    : (JSON.parse(readFileSync(join(recordings, 'expected.json'), 'utf8')) as Record<string, ExpectedAnswer>);

/** `split`: bytes per write; absent: whole frames. */
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
