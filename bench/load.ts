// The load generator: HTTP requests, in a process of its own.
import { Pool } from 'undici';
import { answerTheBench, type Busy, keepBusy, type LoadResult } from './keep-busy.js';

export interface Load extends Busy {
  url: string;
  path: string;
  body: object;
  /** Beside the content type. */
  headers?: Record<string, string>;
  /** Each request names one of so many sessions, `bench-0` and on, at random. */
  sessions?: number;
}

async function run(load: Load): Promise<LoadResult> {
  const pool = new Pool(load.url, { connections: load.inFlight, pipelining: 1 });
  const bodyOf = bodies(load);
  const streamed = (load.body as { stream?: boolean }).stream === true;
  const headers = { ...load.headers, 'content-type': 'application/json' };
  const result = await keepBusy(load, async () => {
    const startedAt = performance.now();
    let firstMs: number | undefined;
    const answer = await pool.request({ method: 'POST', path: load.path, headers, body: bodyOf() });
    const pieces: Buffer[] = [];
    for await (const piece of answer.body) {
      firstMs ??= performance.now() - startedAt;
      pieces.push(piece as Buffer);
    }
    const end = pieces.at(-1)?.toString().trimEnd() ?? '';
    // An error of the MCP endpoint is a complete answer with status 200.
    const complete = streamed ? end.endsWith('[DONE]') : end.endsWith('}') && !end.includes('"error":{');
    if (answer.statusCode !== 200 || !complete) throw new Error(`${answer.statusCode} ${end.slice(-300)}`);
    return firstMs;
  });
  await pool.close();
  return result;
}

/** The same each time, but for what must differ: a session at random, the id of a JSON-RPC request. */
function bodies({ body, sessions }: Load): () => string {
  let lastId = 0;
  if (sessions !== undefined) {
    return () => JSON.stringify({ ...body, session_id: `bench-${Math.floor(Math.random() * sessions)}` });
  }
  if ('jsonrpc' in body) return () => JSON.stringify({ ...body, id: ++lastId });
  const same = JSON.stringify(body);
  return () => same;
}

answerTheBench((busy) => run(busy as Load));
