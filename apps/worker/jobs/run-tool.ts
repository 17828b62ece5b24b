// The inside of a call that may run: session, server, MCP call under its clock, result within bounds. Always resolves
// with an outcome; knows neither the queue nor the journal.
import type { SealedValues } from '#libs/backing/sealed-values.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import type { Logger } from '#libs/logging/logger.js';
import { callMetaKeys, toCallMeta } from '#libs/mcp-server/call-meta.js';
import type { Session, SessionStore } from '#libs/runs/session-store.js';
import { AppError, TOOL_ERROR_CODES, type ToolErrorCode } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { ownName, type ConfiguredServer } from '../mcp/servers/configured-server.js';
import type { RawToolResult } from '../mcp/servers/connection.js';
import type { ServerPool } from '../mcp/pool/pool.js';
import type { PoolEvents } from '../mcp/pool/pool-events.js';
import type { ServerBound } from '../mcp/wire/server-bound.js';
import { clampResult, type ResultBounds } from './clamp-result.js';
import { untilStoreAnswers } from './outcome-writer.js';
import { failed, readResult, type ReadOutcome } from './read-result.js';
import { Stopped } from './running-calls.js';

/** What a call needs to know of its session. */
export type SessionPlace = Pick<Session, 'id' | 'directory'>;

/** Where results that are too large for a model are kept: in the session's own workspace. */
export interface ResultFiles {
  /** Resolves with the path as the session's tools know it. */
  keep(session: SessionPlace, name: string, text: string): Promise<string>;
}

export interface ToolRunParts {
  sessions: SessionStore;
  pool: ServerPool;
  results: ResultFiles;
  bounds: ResultBounds;
  /** Where headers of callers are that servers are sent. */
  sealed: Pick<SealedValues, 'get'>;
  /** Resolves with what tells what is wrong with structured content, where the tool promised a shape for it. */
  outputCheck: (job: ToolJob) => Promise<((value: JsonObject, bytes: number) => string | undefined) | undefined>;
  onBound?: PoolEvents['onBound'];
  logger: Logger;
}

const HEADERS_MS = 2_000;
/** So long a worker knows a session from memory too. */
const MADE_SESSION_MS = 5_000;

/** With its arguments, wherever they were. */
export type RunnableJob = ToolJob & { arguments: JsonObject };

export interface ToolRunHooks {
  signal: AbortController;
  onProgress: (progress: { progress: number; total?: number; message?: string }) => void;
  /** The tool has answered, nothing is recorded yet. */
  afterEffect: () => Promise<void>;
}

export async function runTool(parts: ToolRunParts, job: RunnableJob, hooks: ToolRunHooks): Promise<ReadOutcome> {
  const clock = new CallClock(job, hooks.signal);
  const outputCheck = parts.outputCheck(job);
  try {
    const session = madeSession(job) ?? (await makeSession(parts, job, hooks.signal.signal));
    const headers = await headersOf(job, parts);
    const result = await parts.pool.use(
      job.server,
      {
        user: { principal: job.principal, sessionId: job.sessionId, directory: session.directory, ...headers },
        signal: hooks.signal.signal,
        deadline: steadyNow() + job.timeoutMs,
      },
      async (connection, server) => {
        const call = connection.callTool(
          { tool: ownName(server, job.tool), arguments: job.arguments, meta: metaOf(job, session, server) },
          {
            signal: hooks.signal.signal,
            maxTimeoutMs: job.maxTimeoutMs,
            onProgress: (progress) => {
              clock.extend();
              hooks.onProgress(progress);
            },
          },
        );
        return believed(await unlessAborted(call, hooks.signal.signal), server);
      },
    );
    clock.stop();
    await hooks.afterEffect();
    const onBound = (bound: ServerBound) => parts.onBound?.(job.server, bound);
    const read = readResult(result, await outputCheck, onBound);
    return await clampResult(read, { ...parts.bounds, onBound }, (text) =>
      parts.results.keep(session, `${job.callId}.txt`, text),
    );
  } catch (error) {
    return toOutcome(error, { job, limitMs: clock.limitMs, logger: parts.logger });
  } finally {
    clock.stop();
  }
}

/** What its gateway wrote a moment ago. Later the session may be another one, after a deletion. */
function madeSession({ sessionId, sessionDirectory, queuedAt }: ToolJob): SessionPlace | undefined {
  if (sessionDirectory === undefined || steadyNow() - queuedAt > MADE_SESSION_MS) return undefined;
  return { id: sessionId, directory: sessionDirectory };
}

function makeSession({ pool, sessions }: ToolRunParts, job: ToolJob, signal: AbortSignal): Promise<SessionPlace> {
  return pool.offerSpare(job.server, (directory) =>
    untilStoreAnswers(() => sessions.ensure(job.principal, job.sessionId, { directory }), job.deadline, signal),
  );
}

/** @throws AppError tool_unavailable when what was kept of them is gone: the call is not made without them. */
async function headersOf({ sealedHeaders }: ToolJob, { sealed }: ToolRunParts) {
  if (sealedHeaders === undefined) return {};
  const text = await sealed.get(sealedHeaders, AbortSignal.timeout(HEADERS_MS));
  if (text === undefined) throw new AppError('tool_unavailable', 'The headers of the request are no longer kept');
  return { headers: JSON.parse(text) as Record<string, string> };
}

/** Who asks and where the files are is told to servers of this process only. */
function metaOf(job: ToolJob, session: SessionPlace, { builtin }: ConfiguredServer): JsonObject {
  const meta = builtin
    ? toCallMeta({
        requestId: job.requestId,
        userId: job.principal,
        sessionId: job.sessionId,
        workspaceDirectory: session.directory,
      })
    : { [callMetaKeys.requestId]: job.requestId };
  return job.traceparent === undefined ? meta : { ...meta, traceparent: job.traceparent };
}

/** Codes of ours in a result count where they come from ourselves. */
function believed(result: RawToolResult, { builtin }: ConfiguredServer): RawToolResult {
  return builtin ? result : { ...result, _meta: undefined };
}

/** The tool's own time: from its start, moved by progress, never past its maximum. */
class CallClock {
  readonly #startedAt = performance.now();
  #timer?: NodeJS.Timeout;

  constructor(
    private readonly job: ToolJob,
    private readonly controller: AbortController,
  ) {
    this.extend();
  }

  /** Which of its limits is over: the silence that is allowed, or the whole. */
  get limitMs(): number {
    const { timeoutMs, maxTimeoutMs } = this.job;
    return performance.now() - this.#startedAt >= maxTimeoutMs ? maxTimeoutMs : timeoutMs;
  }

  extend(): void {
    if (this.controller.signal.aborted) return;
    clearTimeout(this.#timer);
    const left = this.#startedAt + this.job.maxTimeoutMs - performance.now();
    const wait = Math.max(0, Math.min(this.job.timeoutMs, left));
    this.#timer = setTimeout(() => this.controller.abort(new Stopped('tool_timeout')), wait);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

const toolCodes: ReadonlySet<string> = new Set(TOOL_ERROR_CODES);

interface FailedCall {
  job: ToolJob;
  limitMs: number;
  logger: Logger;
}

function toOutcome(error: unknown, { job, limitMs, logger }: FailedCall): ReadOutcome {
  if (error instanceof Stopped) {
    return error.reason === 'cancelled'
      ? failed('cancelled', 'The call was cancelled')
      : failed('tool_timeout', `The tool did not answer within ${limitMs} ms`);
  }
  if (error instanceof AppError && toolCodes.has(error.code)) return failed(error.code as ToolErrorCode, error.message);
  if (error instanceof AppError && error.code === 'store_unavailable') {
    return failed('tool_unavailable', 'The session could not be opened: the store is away');
  }
  logger.error({ error, tool: job.name, requestId: job.requestId }, 'a tool call failed in the worker');
  return failed('tool_failed', 'The tool failed');
}
