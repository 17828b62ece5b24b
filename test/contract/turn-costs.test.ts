// What a request makes: promises, and kilobytes of the heap. Neither depends on how quick or busy the machine is, so that a step
// in the wrong direction is seen where it is made. The bounds are what it costs now, and only go down.
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import type { StartedProcess } from '#libs/testing/services/start-process.js';
import { type TemporaryDirectory, temporaryDirectory } from '#libs/testing/services/start-process.js';
import { type Signalbox, startSignalbox } from '#libs/testing/services/start-signalbox.js';
import { workspaceTools } from '../support/scripts.js';
import { verifies } from '../verifies.js';

interface Sample {
  promises: number;
  collections: number;
  bytes: number;
}

const preload = fileURLToPath(new URL('../fixtures/count-costs.cjs', import.meta.url));
const warmUp = 50;
const windows = 5;
const requestsPerWindow = 20;

let box: Signalbox;
let sockets: TemporaryDirectory;

beforeAll(async () => {
  sockets = await temporaryDirectory();
  box = await startSignalbox({
    script: ({ body }) => {
      const messages = body['messages'] as { role: string }[];
      const asksForTool = Array.isArray(body['tools']) && messages.at(-1)?.role !== 'tool';
      return asksForTool ? { toolCalls: [{ name: 'get_time', arguments: {} }] } : { text: 'Hello' };
    },
    environment: {
      // No collection of the young in a window: its promotions would be counted as freed.
      NODE_OPTIONS: `--require ${preload} --max-semi-space-size=256`,
      COSTS_DIRECTORY: sockets.path,
    },
  });
}, 60_000);
afterAll(async () => {
  await box?.close();
  await sockets?.remove();
});

const sample = ({ pid }: StartedProcess, what = 'bytes'): Promise<Sample> =>
  new Promise((resolve, reject) => {
    let text = '';
    const socket = createConnection(join(sockets.path, `${pid}.sock`));
    socket.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    socket.on('error', reject).on('end', () => resolve(JSON.parse(text) as Sample));
    socket.write(what);
  });

async function chat(more: object): Promise<void> {
  const answer = await fetch(`${box.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], ...more }),
  });
  expect(await answer.text()).toContain('Hello');
}

async function repeat(times: number, request: () => Promise<void>): Promise<void> {
  for (let left = times; left > 0; left -= 1) await request();
}

/**
 * What a request makes in gateway and worker, one at a time: the least of some windows, since beside the requests there are timers.
 */
async function costs(what: 'bytes' | 'promises', request: () => Promise<void>): Promise<number[]> {
  const processes = [box.gateways[0]!, box.workers[0]!];
  const sampled = () => Promise.all(processes.map((each) => sample(each, what)));
  const values: number[][] = processes.map(() => []);
  await repeat(warmUp, request);
  for (let tries = 0; values.some((each) => each.length < windows); tries += 1) {
    if (tries > 10 * windows) throw new Error('Every window had a collection in it');
    const before = await sampled();
    await repeat(requestsPerWindow, request);
    const after = await sampled();
    for (const [at, each] of values.entries()) {
      if (what === 'bytes' && before[at]!.collections !== after[at]!.collections) continue;
      each.push((after[at]![what] - before[at]![what]) / requestsPerWindow);
    }
  }
  return values.map((each) => Math.min(...each));
}

const tools = [workspaceTools];
const requests: Record<string, () => Promise<void>> = {
  'a plain chat': () => chat({}),
  'a streamed chat': () => chat({ stream: true }),
  'a loop with one tool call': () => chat({ tools }),
};

/** Of the gateway, then of the worker. */
const bounds: Record<string, { kilobytes: number[]; promises: number[] }> = {
  'a plain chat': { kilobytes: [105, 5], promises: [42, 5] },
  'a streamed chat': { kilobytes: [115, 5], promises: [46, 5] },
  'a loop with one tool call': { kilobytes: [400, 290], promises: [290, 345] },
};

verifies(
  'costs.counted',
  'plain, streamed, and with a tool',
  async () => {
    const exceeded: string[] = [];
    const compare = async (name: string, what: 'kilobytes' | 'promises') => {
      const counted = await costs(what === 'kilobytes' ? 'bytes' : what, requests[name]!);
      for (const [at, program] of ['gateway', 'worker'].entries()) {
        const value = counted[at]! / (what === 'kilobytes' ? 1024 : 1);
        const bound = bounds[name]![what][at]!;
        if (value > bound) exceeded.push(`${name}: ${Math.ceil(value)} ${what} in the ${program}, at most ${bound}`);
      }
    };
    for (const name of Object.keys(requests)) await compare(name, 'kilobytes');
    // Counting promises costs memory, so it comes last.
    for (const name of Object.keys(requests)) await compare(name, 'promises');
    expect(exceeded).toEqual([]);
  },
  120_000,
);
