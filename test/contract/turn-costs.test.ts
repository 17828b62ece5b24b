// What a request makes: promises, and kilobytes of the heap. Neither depends on how quick or busy the machine is, so that a step
// in the wrong direction is seen where it is made. The bounds are what it costs now, and only go down.
import { afterAll, beforeAll, expect } from 'vitest';
import { countCosts, countingEnvironment } from '../support/services/counted-costs.js';
import { type TemporaryDirectory, temporaryDirectory } from '../support/services/start-process.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { workspaceTools } from '../support/scripts.js';
import { verifies } from '../verifies.js';

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
    environment: countingEnvironment(sockets.path),
  });
}, 60_000);
afterAll(async () => {
  await box?.close();
  await sockets?.remove();
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

const costs = (what: 'bytes' | 'promises', request: () => Promise<void>): Promise<number[]> =>
  countCosts(
    {
      pids: [box.gateways[0]!.pid, box.workers[0]!.pid],
      directory: sockets.path,
      repeat: (times) => repeat(times, request),
    },
    what,
  );

const tools = [workspaceTools];
const requests: Record<string, () => Promise<void>> = {
  'a plain chat': () => chat({}),
  'a streamed chat': () => chat({ stream: true }),
  'a loop with one tool call': () => chat({ tools }),
};

/** Of the gateway, then of the worker. */
const bounds: Record<string, { kilobytes: number[]; promises: number[] }> = {
  'a plain chat': { kilobytes: [80, 5], promises: [20, 3] },
  'a streamed chat': { kilobytes: [90, 5], promises: [24, 3] },
  'a loop with one tool call': { kilobytes: [300, 170], promises: [118, 96] },
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
