// The document of an API: read from a file or an address, made into tools in a thread of its own, and kept. One from an address
// is read again after a while; if that fails, what was read before stays.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import { maxDocumentBytes, readDocumentFile } from '#libs/config/servers/document-hash.js';
import { HttpClient } from '#libs/http-client/http-client.js';
import { builtProgram } from '#libs/process/find-installed.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ApiTask, ApiThreadAnswer } from './api-thread.js';
import type { Api, ApiOptions } from './read-api.js';
import { DocumentProblem } from './read-document.js';

const readMs = 60_000;
const connectMs = 10_000;
/** How long one from an address is used. */
const lifeMs = 3_600_000;
const resourceLimits = { maxOldGenerationSizeMb: 1_024, maxYoungGenerationSizeMb: 64 };

export type DocumentPlace = { file: string } | { url: string };

interface Reading {
  api: Promise<Api>;
  stop: AbortController;
  readers: number;
}

export class ApiDocument {
  private kept: { api: Api; until: number } | undefined;
  private reading: Reading | undefined;

  constructor(
    private readonly place: DocumentPlace,
    private readonly options: ApiOptions,
  ) {}

  /** Callers share a reading, which ends with the last of them. @throws AppError tool_unavailable with what is wrong; the signal's reason */
  async read(signal: AbortSignal): Promise<Api> {
    if (this.kept !== undefined && steadyNow() < this.kept.until) return this.kept.api;
    const reading = (this.reading ??= this.begin());
    reading.readers += 1;
    try {
      return await unlessAborted(reading.api, signal);
    } finally {
      reading.readers -= 1;
      if (reading.readers === 0) {
        if (this.reading === reading) this.reading = undefined;
        reading.stop.abort(new Error('nobody waits for the document'));
      }
    }
  }

  private begin(): Reading {
    const stop = new AbortController();
    return { api: this.readNow(stop.signal), stop, readers: 0 };
  }

  private async readNow(signal: AbortSignal): Promise<Api> {
    try {
      const { place } = this;
      const text = await textOfDocument(place, signal);
      const api = await inThread({ text, options: this.options }, signal);
      this.kept = { api, until: 'file' in place ? Infinity : steadyNow() + lifeMs };
      return api;
    } catch (error) {
      if (this.kept !== undefined && !signal.aborted) return this.kept.api;
      if (error instanceof DocumentProblem)
        throw new AppError('tool_unavailable', `Its OpenAPI document ${error.message}`, { cause: error });
      throw error;
    }
  }
}

/** @throws DocumentProblem; the signal's reason */
export async function textOfDocument(place: DocumentPlace, signal: AbortSignal): Promise<string> {
  return 'file' in place ? documentText(place.file) : downloaded(new URL(place.url), signal);
}

/** @throws DocumentProblem */
export function documentText(file: string): string {
  const read = readDocumentFile(file);
  if (typeof read === 'string') throw new DocumentProblem(read);
  return read.toString('utf8');
}

/** The operator has chosen the address, so it may be private. Redirects are not followed. @throws DocumentProblem; the signal's reason */
async function downloaded({ origin, pathname, search }: URL, signal: AbortSignal): Promise<string> {
  const client = new HttpClient({
    baseUrl: origin,
    headers: { 'user-agent': 'signalbox', 'accept-encoding': 'identity' },
    timeoutMs: { connect: connectMs, first_byte: Infinity, idle: Infinity },
    keepAliveMs: 1_000,
    maxExchanges: 1,
    maxBytes: maxDocumentBytes,
    opensAt: 'headers',
    toError: ({ what }) => new DocumentProblem(`cannot be fetched: its server ${what}`),
  });
  try {
    const given = { signal, deadline: steadyNow() + readMs };
    const answer = await client.open({ method: 'GET', path: `${pathname}${search}` }, given);
    if (answer.status !== 200) throw new DocumentProblem(`cannot be fetched: its server answers HTTP ${answer.status}`);
    const parts: Uint8Array[] = [];
    await answer.read((bytes) => void parts.push(bytes));
    return Buffer.concat(parts).toString();
  } finally {
    await client.close().catch(() => undefined);
  }
}

/** @throws DocumentProblem; the signal's reason */
async function inThread(task: ApiTask, signal: AbortSignal): Promise<Api> {
  signal.throwIfAborted();
  const thread = new Worker(builtProgram('apps/worker/mcp/openapi/api-thread.js'), {
    resourceLimits,
    env: {},
    name: 'openapi',
    workerData: task,
  });
  // A worker that stops does not wait for it.
  thread.unref();
  const late = AbortSignal.timeout(readMs);
  try {
    const [answer] = (await once(thread, 'message', { signal: AbortSignal.any([signal, late]) })) as [ApiThreadAnswer];
    if ('api' in answer) return answer.api;
    throw new DocumentProblem(answer.problem);
  } catch (error) {
    signal.throwIfAborted();
    const isMemory = (error as { code?: unknown }).code === 'ERR_WORKER_OUT_OF_MEMORY';
    if (late.aborted || isMemory)
      throw new DocumentProblem(`takes too much ${isMemory ? 'memory' : 'time'} to be read`);
    throw error;
  } finally {
    await thread.terminate();
  }
}
