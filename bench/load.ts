// The load generator, in a process of its own: keeps a number of requests under way for a time, and says how long they
// took. Every request that began is waited for, so that rows can be counted afterwards.
import { Pool } from 'undici';

export interface Load {
  url: string;
  path: string;
  body: object;
  inFlight: number;
  forMs: number;
  /** Ends earlier after so many requests. */
  atMost?: number;
  /** Each request names one of so many sessions, `bench-0` and on, at random. */
  sessions?: number;
}

export interface LoadResult {
  requests: number;
  elapsedMs: number;
  p50Ms: number;
  p99Ms: number;
  /** To the first bytes of the body, median. */
  firstBytesMs: number;
  /** What was answered instead of 200 and a complete body; the first few. */
  failures: string[];
}

async function run(load: Load): Promise<LoadResult> {
  const pool = new Pool(load.url, { connections: load.inFlight, pipelining: 1 });
  const { sessions } = load;
  const same = JSON.stringify(load.body);
  const bodyOf = () =>
    sessions === undefined
      ? same
      : JSON.stringify({ ...load.body, session_id: `bench-${Math.floor(Math.random() * sessions)}` });
  const streamed = (load.body as { stream?: boolean }).stream === true;
  const took: number[] = [];
  const first: number[] = [];
  const failures: string[] = [];
  const began = performance.now();
  const until = began + load.forMs;
  let left = load.atMost ?? Infinity;
  const one = async () => {
    while (performance.now() < until && left-- > 0) {
      const startedAt = performance.now();
      const answer = await pool.request({
        method: 'POST',
        path: load.path,
        headers: { 'content-type': 'application/json' },
        body: bodyOf(),
      });
      const pieces: Buffer[] = [];
      for await (const piece of answer.body) {
        if (pieces.length === 0) first.push(performance.now() - startedAt);
        pieces.push(piece as Buffer);
      }
      took.push(performance.now() - startedAt);
      const end = pieces.at(-1)?.toString().trimEnd() ?? '';
      const complete = streamed ? end.endsWith('[DONE]') : end.endsWith('}');
      if (answer.statusCode !== 200 || !complete) failures.push(`${answer.statusCode} ${end.slice(-300)}`);
    }
  };
  await Promise.all(Array.from({ length: load.inFlight }, one));
  const elapsedMs = performance.now() - began;
  await pool.close();
  return {
    requests: took.length,
    elapsedMs,
    p50Ms: quantile(took, 0.5),
    p99Ms: quantile(took, 0.99),
    firstBytesMs: quantile(first, 0.5),
    failures: failures.slice(0, 3),
  };
}

function quantile(values: number[], at: number): number {
  const sorted = values.sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? Number.NaN;
}

process.on('message', (load: Load) => {
  run(load).then(
    (result) => process.send!(result),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.once('disconnect', () => process.exit(0));
