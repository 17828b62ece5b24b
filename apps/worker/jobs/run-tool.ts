// Runs a call that was allowed, of a tool or for a resource or prompt: session, server, MCP call within its time, result within its
// limits. Always ends the call with an outcome; knows neither the queue nor the journal.
import type { CallTokenMint } from '#libs/access/call-tokens.js';
import { secretsOfHeader, strikeOutKnown } from '#libs/audit/known-secrets.js';
import type { SealedValues } from '#libs/backing/sealed-values.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Faults } from '#libs/config/fault-points.js';
import type { Logger } from '#libs/logging/logger.js';
import { ConnectionNeeded } from '#libs/connections/connection-needed.js';
import {
  callMetaKeys,
  callTokenMetaKey,
  identityMetaKey,
  readErrorCode,
  toCallMeta,
} from '#libs/mcp-server/call-meta.js';
import type { SessionStore } from '#libs/runs/sessions/session-store.js';
import { AppError, isToolErrorCode, toAppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { mcpClientSpan, toolErrorType } from '#libs/tracing/spans.js';
import { tracing } from '#libs/tracing/tracing.js';
import type { Workspaces } from '#libs/workspace/workspaces.js';
import type { PoolEvents } from '../mcp/pool/pool-events.js';
import { instanceOwnerOf } from '../mcp/pool/pool-instance.js';
import type { ServerPool } from '../mcp/pool/pool.js';
import { ownName, type ConfiguredServer, type PoolUser } from '../mcp/servers/configured-server.js';
import type { ToolCallOptions } from '../mcp/wire/call-scope.js';
import type { RawToolResult, ToolConnection } from '../mcp/servers/connection.js';
import type { ServerBound } from '../mcp/wire/server-bound.js';
import { resultsDirectory } from '../builtin/search-tools.js';
import type { OutputCheck } from '../mcp/catalog/output-schemas.js';
import { clampAppResult } from './clamp-app-result.js';
import { clampResult, type ResultBounds } from './clamp-result.js';
import { untilStoreAnswers } from './outcome-writer.js';
import { readServerAnswer } from './read-answer.js';
import { failed, readToolResult } from './read-result.js';
import { type WorkerCall, Stopped } from './call.js';
import type { ResourceUpdates } from './resource-updates.js';

export interface ToolRunParts {
  sessions: SessionStore;
  pool: ServerPool;
  workspaces: Workspaces;
  bounds: ResultBounds;
  /** Holds the callers' headers for servers. */
  sealed: Pick<SealedValues, 'get'>;
  /** Mints tokens for servers that act for their caller. */
  callTokens: Pick<CallTokenMint, 'mint'>;
  /** Returns the check of structured content against the tool's output schema. */
  outputCheck: (job: ToolJob) => OutputCheck | Promise<OutputCheck>;
  updates: Pick<ResourceUpdates, 'watch'>;
  onBound?: PoolEvents['onBound'];
  faults?: Faults | undefined;
  logger: Logger;
}

const headersMs = 2_000;
/** How long the directory of a new session is taken from the job. */
const madeSessionMs = 5_000;

export async function runTool(parts: ToolRunParts, call: WorkerCall): Promise<void> {
  const { job, user } = call;
  call.start();
  const outputCheck = job.method === undefined ? parts.outputCheck(job) : undefined;
  let outcome: ToolOutcome;
  try {
    user.directory = madeDirectory(job) ?? (await makeSession(parts, call));
    if (job.sealedHeaders !== undefined) {
      user.headers = await unsealed(job.sealedHeaders, parts);
      call.holdSecrets(Object.values(user.headers).flatMap(secretsOfHeader));
    }
    const result = await parts.pool.use(job.server, call, (connection, server) =>
      askTool(parts, call, connection, server),
    );
    call.answered();
    if (parts.faults !== undefined) await parts.faults.at('after-effect');
    const onBound = (bound: ServerBound) => parts.onBound?.(job.server, bound);
    const bounds = { ...parts.bounds, onBound };
    if (job.method === undefined) {
      const check = outputCheck instanceof Promise ? await outputCheck : outputCheck;
      const read = readToolResult(result, check, onBound);
      const keep = (text: string) => keepWhole(parts, call, text);
      const clamped = job.app === true ? clampAppResult(read, result, bounds, keep) : clampResult(read, bounds, keep);
      outcome = clamped instanceof Promise ? await clamped : clamped;
    } else outcome = readServerAnswer(job.method, { ...result }, bounds);
  } catch (error) {
    // A tool that has asked something has begun, and does not begin again after a sign-in.
    const mayWait = error instanceof ConnectionNeeded && (error.canSignIn || job.renewsToken === true);
    if (mayWait && !call.hasAsked) call.connectionNeeded = error;
    outcome = toOutcome(error, call, parts.logger);
  }
  const claiming = call.end(outcome.error === undefined ? outcome : withoutSecrets(outcome));
  if (claiming !== undefined) await claiming;
}

/** Our error codes in a result count only if the result is from our own servers. */
async function askTool(
  parts: ToolRunParts,
  call: WorkerCall,
  connection: ToolConnection,
  server: ConfiguredServer,
): Promise<RawToolResult> {
  const { method } = call.job;
  const tool = method ?? ownName(server, call.job.tool);
  const parent = call.span?.traceparent ?? call.job.traceparent;
  const span = tracing?.start(mcpClientSpan(tool, server.name, connection.peer), parent);
  try {
    const meta = await metaOfCall(call, server, { ...parts, traceparent: span?.traceparent ?? parent });
    const args = call.arguments!;
    if (method === 'resources/subscribe')
      parts.updates.watch(server.name, connection, instanceOwnerOf(server, call.user));
    const result: RawToolResult =
      method === undefined
        ? await connection.callTool({ tool, arguments: args, meta }, call)
        : await connection.ask({ method, params: args, meta }, call);
    span?.end(result.isError === true ? toolErrorType : undefined);
    if (!server.builtin) return { ...result, _meta: undefined, appMeta: result._meta };
    if (result.isError === true && readErrorCode(result._meta) === 'connection_needed')
      throw new ConnectionNeeded(server.name);
    return result;
  } catch (error) {
    span?.end(error instanceof Stopped ? error.reason : toAppError(error).code);
    throw error;
  }
}

/** The directory of a session that the gateway has just created. Later the name may belong to another session. */
function madeDirectory({ sessionDirectory, queuedAt }: ToolJob): string | undefined {
  return steadyNow() - queuedAt > madeSessionMs ? undefined : sessionDirectory;
}

async function makeSession({ pool, sessions }: ToolRunParts, { job, signal }: WorkerCall): Promise<string> {
  const session = await pool.offerStandby(job.server, (directory) =>
    untilStoreAnswers(() => sessions.ensure(job.principal, job.sessionId, { directory }), job.deadline, signal),
  );
  return session.directory;
}

/** @throws AppError tool_unavailable if the stored headers have expired: the call is not made without them. */
async function unsealed(headers: NonNullable<ToolJob['sealedHeaders']>, { sealed }: ToolRunParts) {
  const text = await sealed.get(headers, AbortSignal.timeout(headersMs));
  if (text === undefined)
    throw new AppError('tool_unavailable', 'The forwarded headers of the request are no longer available');
  return JSON.parse(text) as Record<string, string>;
}

/** A call, as far as its server is told of it. */
export type ToldCall = Required<Pick<ToolCallOptions, 'holdSecrets'>> &
  Omit<ToolCallOptions, 'job' | 'user'> & {
    job: Pick<
      ToolJob,
      'requestId' | 'principal' | 'keyId' | 'callId' | 'sessionId' | 'runId' | 'roles' | 'maxTimeoutMs'
    >;
    user: PoolUser;
  };

/**
 * What the server of a call is sent in `_meta`. Only servers of this process receive the caller and the location of the files. Tokens are
 * made here, since a job carries no secret.
 * @throws AppError tool_unavailable, store_unavailable
 */
export async function metaOfCall(
  call: ToldCall,
  { builtin, actsForCaller, statement }: Pick<ConfiguredServer, 'builtin' | 'actsForCaller' | 'statement'>,
  { callTokens, traceparent }: Pick<ToolRunParts, 'callTokens'> & { traceparent: string | undefined },
): Promise<JsonObject> {
  const { requestId, principal, sessionId, keyId, callId, maxTimeoutMs } = call.job;
  const meta: JsonObject = builtin
    ? toCallMeta({ requestId, userId: principal, sessionId, workspaceDirectory: call.user.directory })
    : { [callMetaKeys.requestId]: requestId };
  if (traceparent !== undefined) meta['traceparent'] = traceparent;
  if (actsForCaller) {
    const token = await callTokens.mint({ principal, keyId, callId }, maxTimeoutMs);
    call.holdSecrets([token]);
    meta[callTokenMetaKey] = token;
  }
  if (statement !== undefined) meta[identityMetaKey] = await statement(call.user, call);
  return meta;
}

/** Resolves with the path as the session's tools know it. @throws AppError workspace_quota_exceeded */
async function keepWhole({ workspaces }: ToolRunParts, { job, user }: WorkerCall, text: string): Promise<string> {
  const workspace = workspaces.workspace({ id: job.sessionId, directory: user.directory });
  const path = `${resultsDirectory}/${job.callId}.txt`;
  await workspace.write(path, Buffer.from(text), { createDirectories: true });
  return `${workspace.shownPath}/${path}`;
}

function toOutcome(error: unknown, { job, limitMs }: WorkerCall, logger: Logger): ToolOutcome {
  if (error instanceof Stopped) {
    return error.reason === 'cancelled'
      ? failed('cancelled', 'The call was cancelled')
      : failed('tool_timeout', `The tool did not answer within ${limitMs} ms`);
  }
  if (error instanceof AppError && isToolErrorCode(error.code)) return failed(error.code, error.message);
  if (error instanceof AppError && error.code === 'store_unavailable') {
    return failed('tool_unavailable', 'The session could not be opened: the store is unavailable');
  }
  logger.error({ error, tool: job.name, requestId: job.requestId }, 'a tool call failed in the worker');
  return failed('tool_failed', 'The tool failed');
}

/** Redacts the message of a failure, which may quote the token that was refused. */
function withoutSecrets(failure: ToolOutcome): ToolOutcome {
  return JSON.parse(strikeOutKnown(JSON.stringify(failure))) as ToolOutcome;
}
