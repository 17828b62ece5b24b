// Between the SDK's client and any transport: a server's message reaches the client only if it answers a request, has a
// readable shape, and does not exceed the rate we can process. Progress goes straight to its call, in order: the SDK
// delivers it late, so that a result overtakes it.
import {
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type MessageExtraInfo,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { exceedsDepth } from '#libs/json-schema/compile-schema.js';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import { CountWindow, FloodGate } from './flood-gate.js';
import { messageSize } from './message-size.js';
import { enclose, type Id, readServerResult, unreadable } from './read-message.js';
import type { OnServerBound } from './server-bound.js';

export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

export interface ProgressListener {
  onProgress(progress: Progress): void;
}

export interface GuardOptions {
  /** How long a cancelled request keeps its connection and may still be answered. */
  cancelGraceMs: number;
  /** Requests that a server may send the client; others are refused here, so that it need not wait for an answer. */
  answered?: readonly string[];
  onBound?: OnServerBound | undefined;
}

/** Our own error code, as `unreadableAnswer`, for a request whose stream ended without an answer. */
export const missingAnswer = -32_098;
/** Our own error code for an answer that exceeds the size limit. */
export const tooLargeAnswer = -32_097;
/** Marks the error message for a too large HTTP body. */
export const tooLargePhrase = 'larger than what is read';

const maxDepth = 256;
const answeredStreamMs = 1_000;
const maxIdLength = 1_024;
const maxProgressMessage = 2_000;
const secondMs = 1_000;
const deliveredASecond = 1_000;
const askingMethods: ReadonlySet<string> = new Set(['elicitation/create', 'sampling/createMessage']);
/** The names of both eras. */
const taskNotifications: ReadonlySet<string> = new Set(['notifications/tasks', 'notifications/tasks/status']);
/** Maximum questions and refused requests in ten seconds. A server that sends more is cut off. */
const questionsSize = 100;
const questionsWindowMs = 10_000;
const methodNotFound = -32_601;
/** The assumed size of an event over HTTP that is not a message: its real size is no longer known. */
const unreadableBytes = 64 * 1024;

type Message = Record<string, unknown>;
type OutgoingParams = { requestId?: Id; _meta?: { progressToken?: string } };

export class GuardedTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  /** Gets log messages at once, as progress, so that no result overtakes them. */
  onlog?: (params: unknown) => void;
  /** Gets what a server says of a task, unchecked. */
  ontask?: (params: unknown) => void;
  /** The answer to the newer greeting, if it came after the older one had been sent. */
  lateDiscovery?: unknown;
  /** Unanswered requests, with their progress tokens. */
  private readonly asked = new Map<Id, { method: string; controller: AbortController; token?: string }>();
  private readonly progress = new Map<string, ProgressListener>();
  /** Timers that end the streams of answered or cancelled requests. */
  private readonly ends = new Map<Id, NodeJS.Timeout>();
  private readonly second = new CountWindow(secondMs);
  private readonly flood = new FloodGate();
  private readonly questions = new CountWindow(questionsWindowMs);
  private tokens = 0;
  private lastError = '';
  private ownFailure?: AppError;

  constructor(
    readonly inner: Transport & { readonly frameBytes?: number; readonly failure?: AppError; onnewsagain?: () => void },
    private readonly options: GuardOptions,
  ) {
    // The SDK recognises a pipe by these members. On a pipe, silence means a server of the old era.
    if ('pid' in inner && 'stderr' in inner) {
      Object.defineProperties(this, { pid: { get: () => inner.pid }, stderr: { value: inner.stderr } });
    }
  }

  /** Why the connection ended, if the server caused it. */
  get failure(): AppError | undefined {
    return this.ownFailure ?? this.inner.failure;
  }

  get sessionId(): string | undefined {
    return this.inner.sessionId;
  }

  get hasPerRequestStream(): boolean {
    return this.inner.hasPerRequestStream === true;
  }

  setProtocolVersion(version: string): void {
    this.inner.setProtocolVersion?.(version);
  }

  async start(): Promise<void> {
    const hooks: Pick<Transport, 'onmessage' | 'onclose' | 'onerror'> = {
      onmessage: (message, extra) => this.receive(message, extra),
      onclose: () => {
        this.forgetAll();
        this.onclose?.();
      },
      onerror: (error) => {
        this.lastError = error.message;
        if (isUnreadable(error)) this.isAffordable(unreadableBytes);
        this.onerror?.(error);
      },
    };
    Object.assign(this.inner, hooks);
    await this.inner.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const { method, id, params } = message as { method?: string; id?: Id; params?: OutgoingParams };
    const cancelled = method === 'notifications/cancelled' ? params?.requestId : undefined;
    if (cancelled !== undefined) this.endLater(cancelled, this.asked.get(cancelled), this.options.cancelGraceMs);
    if (method === undefined || id === undefined) return this.inner.send(message, options);
    const controller = new AbortController();
    const token = params?._meta?.progressToken;
    this.asked.set(id, { method, controller, ...(token === undefined ? {} : { token }) });
    const given = options?.requestSignal;
    try {
      await this.inner.send(message, {
        ...options,
        requestSignal: given === undefined ? controller.signal : AbortSignal.any([given, controller.signal]),
        onRequestStreamEnd: () => {
          options?.onRequestStreamEnd?.();
          this.streamEnded(id);
        },
      });
    } catch (error) {
      this.asked.delete(id);
      // The error belongs to this request: a later end has other causes.
      this.lastError = '';
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.inner.close();
    this.forgetAll();
  }

  /** A token to send with a request; its progress is delivered until it is forgotten. */
  expectProgress(listener: ProgressListener, token = `call-${(this.tokens += 1)}`): string {
    this.progress.set(token, listener);
    return token;
  }

  forgetProgress(token: string): void {
    this.progress.delete(token);
  }

  private receive(message: JSONRPCMessage, extra?: MessageExtraInfo): void {
    const read = message as unknown as Message;
    if (!('method' in read)) return this.answered(read, extra);
    if (!this.isAffordable(this.sizeOf(read))) return;
    if (read['method'] === 'notifications/progress') return this.progressed(read['params']);
    const { method, id } = read;
    if (typeof method !== 'string' || exceedsDepth(read, maxDepth) || isTooLong(id)) return;
    if (method === 'notifications/message') return this.onlog?.(read['params']);
    if (taskNotifications.has(method)) return this.ontask?.(read['params']);
    if (id === undefined || this.options.answered?.includes(method) === true) {
      if (id === undefined || !askingMethods.has(method) || this.mayAsk()) this.onmessage?.(message, extra);
      return;
    }
    if (typeof id === 'string' || typeof id === 'number') this.refuse(id);
  }

  private mayAsk(): boolean {
    const may = this.questions.count() <= questionsSize;
    if (!may) this.cutOff('questions', 'sent more requests than are answered');
    return may;
  }

  private refuse(id: Id): void {
    if (!this.mayAsk()) return;
    this.inner.send(failure(id, methodNotFound, 'This client does not support that request')).catch(() => undefined);
  }

  private cutOff(bound: 'questions' | 'unasked_messages', why: string): void {
    if (this.failure !== undefined) return;
    this.options.onBound?.(bound);
    this.ownFailure = new AppError('tool_crashed', `The tool server ${why}`);
    this.inner.close().catch(() => undefined);
  }

  /** Foreign, duplicate and late answers count as noise. */
  private answered(read: Message, extra?: MessageExtraInfo): void {
    const id = this.idOf(read);
    const asked = id === undefined ? undefined : this.asked.get(id);
    if (id === undefined || asked === undefined) {
      this.isAffordable(this.sizeOf(read));
      return;
    }
    this.asked.delete(id);
    const { result } = read;
    // The call goes on, with the next request or as a task, under the same token.
    const goesOn = isJsonObject(result) && ((result['resultType'] ?? 'complete') !== 'complete' || 'task' in result);
    if (asked.token !== undefined && !goesOn) this.progress.delete(asked.token);
    // A stream that ends in time leaves its connection to the next request.
    if (this.hasPerRequestStream) this.endLater(id, asked, answeredStreamMs);
    const answer = this.readable(read, id, asked.method);
    if (asked.method === 'server/discover' && 'result' in answer && this.isAsked('initialize')) {
      this.lateDiscovery = answer.result;
      return;
    }
    this.onmessage?.(answer, extra);
  }

  private isAsked(method: string): boolean {
    return [...this.asked.values()].some((asked) => asked.method === method);
  }

  /** Some servers write ids as text, or none if they cannot read the request, which then must be the only open one. */
  private idOf({ id, error }: Message): Id | undefined {
    if (typeof id === 'string' && !this.asked.has(id)) return id === '' ? undefined : Number(id);
    if (id === undefined && error !== undefined && this.asked.size === 1) return this.asked.keys().next().value;
    return id as Id | undefined;
  }

  private readable(read: Message, id: Id, method: string): JSONRPCMessage {
    const { error, result } = read;
    if (error !== undefined) return { jsonrpc: '2.0', id, error } as JSONRPCMessage;
    const bounded = exceedsDepth(read, maxDepth) ? withoutDeepTools(result as JsonObject) : (result as JsonObject);
    if (bounded === undefined) return unreadable(id);
    const known = enclose(readServerResult(bounded, method), method);
    const message: JSONRPCMessage = { jsonrpc: '2.0', id, result: known };
    // The SDK would drop a message with an invalid `_meta`, and the request would wait.
    const isTaken = known['_meta'] === undefined || isJSONRPCResultResponse(message);
    return isTaken ? message : { jsonrpc: '2.0', id, result: { ...known, _meta: undefined } };
  }

  private progressed(params: unknown): void {
    if (!isJsonObject(params)) return;
    const { progressToken } = params;
    const listener = typeof progressToken === 'string' ? this.progress.get(progressToken) : undefined;
    const progress = listener === undefined ? undefined : readProgress(params);
    if (progress !== undefined) listener?.onProgress(progress);
  }

  /** Whether one more unsolicited message is accepted; a flood of them ends the connection. */
  private isAffordable(bytes: number): boolean {
    if (!this.flood.take(bytes)) {
      this.cutOff('unasked_messages', 'sent more messages than are accepted');
    }
    return this.failure === undefined && this.second.count() <= deliveredASecond;
  }

  private sizeOf(read: Message): number {
    return this.inner.frameBytes ?? messageSize(read);
  }

  /** Ends a stream that the server leaves open. */
  private endLater(id: Id, asked: { controller: AbortController } | undefined, ms: number): void {
    if (asked === undefined) return;
    clearTimeout(this.ends.get(id));
    const timer = setTimeout(() => {
      this.ends.delete(id);
      this.asked.delete(id);
      asked.controller.abort();
    }, ms).unref();
    this.ends.set(id, timer);
  }

  private streamEnded(id: Id): void {
    clearTimeout(this.ends.get(id));
    this.ends.delete(id);
    if (!this.asked.delete(id)) return;
    const tooLarge = this.lastError.includes(tooLargePhrase);
    this.lastError = '';
    const code = tooLarge ? tooLargeAnswer : missingAnswer;
    const said = tooLarge ? `The result is ${tooLargePhrase}` : 'The tool server ended its answer too early';
    this.onmessage?.(failure(id, code, said));
  }

  private forgetAll(): void {
    for (const timer of this.ends.values()) clearTimeout(timer);
    this.ends.clear();
    for (const { controller } of this.asked.values()) controller.abort();
    this.asked.clear();
    this.progress.clear();
  }
}

/** Undefined if the progress is invalid. */
export function readProgress({ progress, total, message }: { [Member in keyof Progress]?: unknown }) {
  if (!isNumber(progress)) return undefined;
  const read: Progress = { progress };
  if (isNumber(total)) read.total = total;
  if (typeof message === 'string') read.message = message.slice(0, maxProgressMessage);
  return read;
}

/** JSON allows numbers that a double cannot hold, such as 1e400, which becomes infinite. */
const isNumber = (value: unknown): value is number => Number.isFinite(value);
/** An answer repeats the id: an id of megabytes would cause an answer of megabytes. */
const isTooLong = (id: unknown) => typeof id === 'string' && id.length > maxIdLength;
const isUnreadable = (error: Error) => error instanceof SyntaxError || error.name === 'ZodError';

/** Reduces tools that are nested too deep to their names, so that the catalog refuses only these tools. */
function withoutDeepTools(result: JsonObject): JsonObject | undefined {
  if (!Array.isArray(result['tools'])) return undefined;
  const tools = result['tools'].map((tool) =>
    exceedsDepth(tool, maxDepth - 2) && isJsonObject(tool) ? { name: tool['name'] ?? null } : tool,
  );
  const bounded = { ...result, tools };
  return exceedsDepth(bounded, maxDepth) ? undefined : bounded;
}

const failure = (id: Id, code: number, message: string): JSONRPCMessage => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
});
