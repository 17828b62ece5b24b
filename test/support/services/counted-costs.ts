// What requests make in the processes that serve them: promises, and bytes of the heap. Neither depends on how quick or busy the
// machine is. The processes were started with `countingEnvironment`.
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { installedPath } from '#libs/process/find-installed.js';

interface Sample {
  promises: number;
  collections: number;
  bytes: number;
}

export interface Counting {
  pids: readonly number[];
  /** That of `countingEnvironment`. */
  directory: string;
  /** Makes so many requests, one after another. */
  repeat(times: number): Promise<unknown>;
}

const warmUp = 50;
const windows = 5;
const requestsPerWindow = 20;

/** `directory` is where the processes can be asked. No collection of the young in a window: its promotions would be counted as freed. */
export const countingEnvironment = (directory: string): Record<string, string> => ({
  NODE_OPTIONS: `--require ${installedPath('test/fixtures/count-costs.cjs')} --max-semi-space-size=256`,
  COSTS_DIRECTORY: directory,
});

/**
 * What a request makes in each process: the least of some windows, since beside the requests there are timers. Counting promises
 * costs memory, so the bytes are counted first.
 */
export async function countCosts({ pids, directory, repeat }: Counting, what: 'bytes' | 'promises'): Promise<number[]> {
  const sampled = () => Promise.all(pids.map((pid) => sample(join(directory, `${pid}.sock`), what)));
  const values: number[][] = pids.map(() => []);
  await repeat(warmUp);
  for (let tries = 0; values.some((each) => each.length < windows); tries += 1) {
    if (tries > 10 * windows) throw new Error('Every window had a collection in it');
    const before = await sampled();
    await repeat(requestsPerWindow);
    const after = await sampled();
    for (const [at, each] of values.entries()) {
      if (what === 'bytes' && before[at]!.collections !== after[at]!.collections) continue;
      each.push((after[at]![what] - before[at]![what]) / requestsPerWindow);
    }
  }
  return values.map((each) => Math.min(...each));
}

const sample = (path: string, what: string): Promise<Sample> =>
  new Promise((resolve, reject) => {
    let text = '';
    const socket = createConnection(path);
    socket.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    socket.on('error', reject).on('end', () => resolve(JSON.parse(text) as Sample));
    socket.write(what);
  });
