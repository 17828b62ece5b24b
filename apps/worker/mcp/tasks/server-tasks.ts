// The tasks that a server makes of calls, followed until their results. Since 2026-07-28 they are the extension
// `io.modelcontextprotocol/tasks`, and the server decides; in 2025-11-25 only a tool that must be called as a task is.
import { setTimeout as delay } from 'node:timers/promises';
import { type Client, ProtocolError } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { ServerRequests } from '../asking/server-requests.js';
import { asCallError } from '../servers/connection-errors.js';
import type { ToolCallOptions } from '../wire/call-scope.js';
import { type GuardedTransport, missingAnswer } from '../wire/guarded-transport.js';
import { disclose, readServerResult } from '../wire/read-message.js';
import { pauseOf, readTask, type ServerTask } from './read-task.js';
import { TaskProgress } from './task-progress.js';

type TaskMethod = 'tasks/get' | 'tasks/result' | 'tasks/update' | 'tasks/cancel';
type Result = Record<string, unknown>;

export interface TaskCall {
  tool: string;
  options: ToolCallOptions;
  progressToken: string;
  /** The longest time of the call, with its questions. */
  timeout: number;
}

const anyResult = z.looseObject({});
const requestMs = 15_000;
const pauseAfterFailureMs = 500;
const firstLookMs = 100;
/** How often in a row the server may fail to answer before the call ends. */
const maxFailures = 3;
/** What these codes say of a call, that nothing ran, is not known of a task. */
const nothingRan: ReadonlySet<string> = new Set(['tool_unavailable', 'invalid_tool_arguments', 'connection_needed']);

export class ServerTasks {
  /** Tools that must be called as tasks; undefined while they are not listed. */
  private required: ReadonlySet<string> | undefined;
  /** Aborted when there is news of a task since it was looked at last, by its id. */
  private readonly news = new Map<string, AbortController>();

  constructor(
    private readonly client: Client,
    private readonly guard: GuardedTransport,
    private readonly asked: ServerRequests,
    private readonly cancelMs: number,
  ) {
    guard.ontask = (params) => {
      const taskId = isJsonObject(params) ? params['taskId'] : undefined;
      if (typeof taskId === 'string') this.news.get(taskId)?.abort();
    };
  }

  /** Whether the tools must be listed before one is called, since some may have to be called as tasks. */
  get needsListing(): boolean {
    return this.required === undefined && this.isOlder;
  }

  listed(tools: readonly unknown[]): void {
    const names = tools.flatMap((tool) => {
      if (!isJsonObject(tool) || !isJsonObject(tool['execution'])) return [];
      return tool['execution']['taskSupport'] === 'required' ? [tool['name'] as string] : [];
    });
    this.required = new Set(this.isOlder ? names : []);
  }

  /** Further parameters of a call. */
  paramsOf(tool: string, timeout: number): { task: { ttl: number } } | undefined {
    return this.required?.has(tool) === true ? { task: { ttl: timeout } } : undefined;
  }

  /** The task that the server has made of a call; undefined for an ordinary result. */
  madeOf(result: Result, tool: string): unknown {
    if (result['resultType'] === 'task') return result;
    return this.required?.has(tool) === true ? result['task'] : undefined;
  }

  /**
   * Resolves with the call's result, unchecked. If the call ends before the task, the task is cancelled.
   * @throws AppError, never one that says that nothing ran; the signal's reason
   */
  async follow(made: unknown, call: TaskCall): Promise<Result> {
    let task = readTask(made);
    const { taskId } = task;
    const { signal } = call.options;
    const progress = new TaskProgress(call.options);
    this.guard.expectProgress(progress, call.progressToken);
    const answered = new Set<string>();
    let result: Promise<Result> | undefined;
    let news = this.listen(taskId);
    // A server of 2025-11-25 may have told its news together with the task.
    let pauseMs = this.isModern ? pauseOf(task) : firstLookMs;
    try {
      while (!isOver(task)) {
        if (task.status === 'working') progress.heard(task.statusMessage);
        else if (!this.isModern && result === undefined) {
          // In 2025-11-25 the server asks on the stream of this request.
          result = this.ask('tasks/result', { taskId }, call);
        } else await this.answer(task, answered, call);
        const paused = pause(pauseMs, AbortSignal.any([signal, news]));
        const early = await (result === undefined ? paused : Promise.race([paused, result]));
        signal.throwIfAborted();
        if (early !== undefined) return early;
        news = this.listen(taskId);
        task = readTask(await this.ask('tasks/get', { taskId }, call));
        pauseMs = pauseOf(task);
      }
    } catch (error) {
      this.cancel(taskId);
      throw error;
    } finally {
      this.news.get(taskId)?.abort();
      this.news.delete(taskId);
    }
    if (!this.isModern && task.status !== 'cancelled') return this.ask('tasks/result', { taskId }, call);
    return resultOf(task, call.tool);
  }

  private get isModern(): boolean {
    return this.client.getProtocolEra() === 'modern';
  }

  /** A server of 2025-11-25 that has tasks. */
  private get isOlder(): boolean {
    return !this.isModern && this.client.getServerCapabilities()?.tasks?.requests?.tools?.call !== undefined;
  }

  /** Answers what the task asks and has not asked before. */
  private async answer({ taskId, inputRequests = {} }: ServerTask, answered: Set<string>, call: TaskCall) {
    const asked = Object.entries(inputRequests).filter(([key]) => !answered.has(key));
    if (asked.length === 0) return;
    const answers = asked.map(async ([key, request]) => {
      answered.add(key);
      return [key, await this.asked.answer(request, call.options.signal)] as const;
    });
    const inputResponses = Object.fromEntries(
      await Promise.all(answers).catch((error: unknown) => {
        throw asCallError(error, { toolName: call.tool });
      }),
    );
    await this.ask('tasks/update', { taskId, inputResponses }, call);
  }

  private listen(taskId: string): AbortSignal {
    const news = new AbortController();
    this.news.set(taskId, news);
    return news.signal;
  }

  /** All these requests may be repeated: what fails on the way is asked again, as a task outlives a connection. */
  private async ask(method: TaskMethod, params: object, { options, tool, timeout }: TaskCall): Promise<Result> {
    const { signal } = options;
    const given = { signal, timeout: method === 'tasks/result' ? timeout : requestMs };
    for (let failures = 1; ; failures += 1) {
      try {
        const result = disclose(await this.client.request({ method, params } as never, anyResult, given));
        return method === 'tasks/result' ? readServerResult(result as JsonObject, 'tools/call') : result;
      } catch (error) {
        signal.throwIfAborted();
        const isAnswer = error instanceof ProtocolError && error.code !== missingAnswer;
        if (isAnswer || this.guard.failure !== undefined || failures >= maxFailures) throw this.ended(error, tool);
        await delay(failures * pauseAfterFailureMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    }
  }

  private ended(error: unknown, toolName: string): AppError {
    const read = asCallError(error, { toolName, failure: this.guard.failure });
    return nothingRan.has(read.code) ? new AppError('tool_failed', read.message, { cause: error, toolName }) : read;
  }

  /** Nobody waits for the answer: a server that has gone, or does not want to, cannot be helped. */
  private cancel(taskId: string): void {
    const request = { method: 'tasks/cancel', params: { taskId } } as never;
    this.client.request(request, anyResult, { timeout: this.cancelMs }).catch(() => undefined);
  }
}

const pause = (ms: number, ended: AbortSignal): Promise<undefined> =>
  delay(ms, undefined, { signal: ended }).catch(() => undefined);

const isOver = ({ status }: ServerTask) => status !== 'working' && status !== 'input_required';

/** @throws AppError for a task that has no result */
function resultOf({ status, result, error }: ServerTask, toolName: string): Result {
  if (status === 'cancelled') throw new AppError('tool_failed', 'The tool server cancelled the task', { toolName });
  if (error !== undefined) throw asCallError(new ProtocolError(error.code, error.message), { toolName });
  if (result !== undefined) return readServerResult(result as JsonObject, 'tools/call');
  throw new AppError('invalid_tool_result', 'The task of the tool ended without a result', { toolName });
}
