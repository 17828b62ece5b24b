// The endpoints beside chats: runs, approvals, sessions, files, tools.
import type {
  Approval,
  EndedCall,
  ShownApp,
  FileList,
  ListedRun,
  Run,
  RunDetails,
  Session,
  Tool,
  ToolResult,
  UploadedFile,
} from './answers.js';
import type {
  ApprovalFilters,
  Decision,
  ReplayBody,
  RunFilters,
  ToolCallEvent,
  ToolCallBody,
  UnconnectedCall,
  WaitingCall,
} from './api-types.js';
import { type ShownError, SignalboxError, toSignalboxError } from './errors.js';
import { type CallOptions, type Http, type KeyedCallOptions, longCallMs, makeKey } from './http.js';
import { readEvents } from './read-events.js';
import { TurnStream } from './turn-stream.js';

export interface PageOptions extends CallOptions {
  limit?: number;
  /** The id of the last entry of the page before. */
  after?: string;
}

export interface CursorOptions extends CallOptions {
  limit?: number;
  /** `next_cursor` of the page before. */
  cursor?: string | undefined;
}

export interface Page<Row> {
  data: Row[];
  /** Null after the last page. */
  next_cursor: string | null;
}

export class RunResource {
  constructor(private readonly http: Http) {}

  /** Newest first. A page may be short, or empty, and still be followed by others: `next_cursor` says so. */
  list({ limit, cursor, signal, timeoutMs, ...filters }: RunFilters & CursorOptions = {}): Promise<Page<ListedRun>> {
    const options = { ...(signal && { signal }), ...(timeoutMs !== undefined && { timeoutMs }) };
    return this.http.json({ method: 'GET', path: '/api/runs', query: { ...filters, limit, cursor } }, options);
  }

  /** With `include` also what was said, what became of each call, and the events. */
  get(
    id: string,
    { include, ...options }: CallOptions & { include?: readonly ('rounds' | 'calls' | 'events')[] } = {},
  ): Promise<RunDetails> {
    const query = { include: include?.join(',') };
    return this.http.json({ method: 'GET', path: `/api/runs/${encodeURIComponent(id)}`, query }, options);
  }

  /** The events of a run, while it runs and until ten minutes later. `after`: the number of the last one that is known. */
  events(id: string, { after = 0, signal }: { after?: number; signal?: AbortSignal } = {}): TurnStream {
    return new TurnStream(this.http, { runId: id, after, resume: true, cancel: false }, signal);
  }

  /** Runs the turn once more as a new run, with recorded results: no tool is called. Follow it by `events`. */
  replay(id: string, changes: ReplayBody = {}, options?: CallOptions): Promise<ListedRun> {
    const path = `/api/runs/${encodeURIComponent(id)}/replay`;
    return this.http.json({ method: 'POST', path, json: { ...changes } }, options);
  }

  /** Returns the run after the request; a run that is over stays as it is. */
  cancel(id: string, options?: CallOptions): Promise<Run> {
    return this.http.json({ method: 'DELETE', path: `/api/runs/${encodeURIComponent(id)}` }, options);
  }
}

export class ApprovalResource {
  constructor(private readonly http: Http) {}

  /** Newest first, unless `order` is `asc`. */
  list({
    state,
    tool,
    principal,
    order,
    limit,
    after,
    ...options
  }: PageOptions & ApprovalFilters & { order?: 'asc' | 'desc' } = {}): Promise<{
    data: Approval[];
    has_more: boolean;
  }> {
    const query = { state: state && [state].flat().join(','), tool, principal, order, limit, after };
    return this.http.json({ method: 'GET', path: '/api/approvals', query }, options);
  }

  get(id: string, options?: CallOptions): Promise<Approval> {
    return this.http.json({ method: 'GET', path: `/api/approvals/${encodeURIComponent(id)}` }, options);
  }

  /** Only the first decision counts. @throws SignalboxError approval_already_decided */
  decide(id: string, decision: Decision, options?: CallOptions): Promise<Approval> {
    return this.http.json(
      { method: 'POST', path: `/api/approvals/${encodeURIComponent(id)}`, json: decision },
      options,
    );
  }
}

export class SessionResource {
  constructor(private readonly http: Http) {}

  /** Creates a session, or renews the one of this name. */
  create(
    session: { session_id?: string; metadata?: Record<string, unknown> } = {},
    options?: CallOptions,
  ): Promise<Session> {
    return this.http.json({ method: 'POST', path: '/api/sessions', json: session }, options);
  }

  /** By name. `principal`, for administrators: another owner, or `*` for all sessions. */
  list({
    limit,
    after,
    principal,
    cursor,
    ...options
  }: PageOptions & { principal?: string; cursor?: string | undefined } = {}): Promise<{
    sessions: Session[];
    has_more: boolean;
    next_cursor: string | null;
  }> {
    const query = { limit, after, principal, cursor };
    return this.http.json({ method: 'GET', path: '/api/sessions', query }, options);
  }

  get(id: string, options?: CallOptions): Promise<Session> {
    return this.http.json({ method: 'GET', path: sessionPath(id) }, options);
  }

  /** Deletes the session and its files. */
  delete(id: string, options?: CallOptions): Promise<void> {
    return this.http.json({ method: 'DELETE', path: sessionPath(id) }, options);
  }
}

export class FileResource {
  constructor(private readonly http: Http) {}

  list(sessionId: string, options?: CallOptions): Promise<FileList> {
    return this.http.json({ method: 'GET', path: `${sessionPath(sessionId)}/files` }, options);
  }

  /** Writes a file; creates the session if needed. `ifMatch`: only over this version, `'*'` over any; `ifNoneMatch: '*'`: only a new file. */
  upload(
    file: { sessionId: string; path: string; content: NonNullable<RequestInit['body']> },
    { ifMatch, ifNoneMatch, ...options }: CallOptions & { ifMatch?: string; ifNoneMatch?: string } = {},
  ): Promise<UploadedFile> {
    const headers = {
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
      ...(ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch }),
      'content-type': 'application/octet-stream',
    };
    const { content: body } = file;
    return this.http.json({ method: 'PUT', path: filePath(file), body, headers, timeoutMs: longCallMs }, options);
  }

  /**
   * Resolves with the headers; read the body with `text()`, `arrayBuffer()`, `blob()` or as a stream. `firstBytes`: only so many
   * of a file that is not empty.
   */
  download(
    file: { sessionId: string; path: string },
    { firstBytes, ...options }: CallOptions & { firstBytes?: number } = {},
  ): Promise<Response> {
    const headers: Record<string, string> = firstBytes === undefined ? {} : { range: `bytes=0-${firstBytes - 1}` };
    return this.http.send({ method: 'GET', path: filePath(file), headers }, options, (response) => response);
  }

  /** All files of a session as one tar archive, like `download`. */
  archive(sessionId: string, options: CallOptions = {}): Promise<Response> {
    const path = `${sessionPath(sessionId)}/files`;
    return this.http.send({ method: 'GET', path, query: { archive: 'tar' } }, options, (response) => response);
  }

  /** A file or an empty directory; with `recursive` a directory with its content. */
  delete(
    file: { sessionId: string; path: string },
    { recursive, ...options }: CallOptions & { recursive?: boolean } = {},
  ): Promise<void> {
    return this.http.json({ method: 'DELETE', path: filePath(file), query: { recursive } }, options);
  }
}

export class ToolResource {
  constructor(private readonly http: Http) {}

  /** The tools that a chat may offer. `include`: what the policy says to the caller, and the calls of the last 30 days. */
  async list({ include, ...options }: CallOptions & { include?: readonly ('verdict' | 'usage')[] } = {}): Promise<
    Tool[]
  > {
    const query = { include: include?.join(',') };
    return (await this.http.json<{ data: Tool[] }>({ method: 'GET', path: '/api/tools', query }, options)).data;
  }

  get(name: string, options?: CallOptions): Promise<Tool> {
    return this.http.json({ method: 'GET', path: `/api/tools/${encodePath(name)}` }, options);
  }

  /** What is needed to show the app of an ended call of the caller. The page is read from the tool server. */
  app(callId: string, options?: CallOptions): Promise<ShownApp> {
    return this.http.json({ method: 'POST', path: '/api/apps', json: { call_id: callId } }, options);
  }

  /**
   * Runs one tool, without a chat. If the call needs an approval or a sign-in, it is returned without having run.
   * @throws SignalboxError also for a tool that fails: its code says how
   */
  async call(
    call: ToolCallBody,
    { idempotencyKey = makeKey(), ...options }: KeyedCallOptions = {},
  ): Promise<EndedCall | WaitingCall | UnconnectedCall> {
    const path = '/api/tools/call';
    const answer = await this.http.json<EndedCall | Unkeyed<WaitingCall> | Unkeyed<UnconnectedCall>>(
      { method: 'POST', path, json: call, idempotencyKey, timeoutMs: longCallMs },
      options,
    );
    return 'approval' in answer || 'sign_in' in answer ? { ...answer, idempotencyKey } : answer;
  }

  /** Like `call`, and tells meanwhile how it goes on. A tool that fails is a result here. */
  callWithProgress(
    call: ToolCallBody,
    onEvent: (event: ToolCallEvent) => void,
    { idempotencyKey = makeKey(), ...options }: KeyedCallOptions = {},
  ): Promise<ToolResult | WaitingCall | UnconnectedCall> {
    const headers = { accept: 'text/event-stream' };
    const path = '/api/tools/call';
    return this.http.send(
      { method: 'POST', path, json: call, idempotencyKey, headers, timeoutMs: longCallMs },
      options,
      async (response) => {
        if (response.status === 202) {
          const waiting = (await response.json()) as Unkeyed<WaitingCall> | Unkeyed<UnconnectedCall>;
          return { ...waiting, idempotencyKey };
        }
        for await (const { data } of readEvents(response.body!, noIdleClock)) {
          if (data === '[DONE]') break;
          const event = JSON.parse(data) as
            ToolCallEvent | { type: 'tool_result'; result: ToolResult } | { error: ShownError };
          if ('error' in event) throw toSignalboxError(event.error);
          if (event.type === 'tool_result') return event.result;
          onEvent(event);
        }
        throw new SignalboxError('stream_cut', 'The stream of the call ended before its result');
      },
    );
  }
}

type Unkeyed<Call> = Omit<Call, 'idempotencyKey'>;

/** The deadline of the call covers the pauses between events. */
const noIdleClock = { touch: () => undefined, stopClock: () => undefined };

const sessionPath = (id: string) => `/api/sessions/${encodeURIComponent(id)}`;
const filePath = ({ sessionId, path }: { sessionId: string; path: string }) =>
  `${sessionPath(sessionId)}/files/${encodePath(path)}`;

/** Slashes stay. */
const encodePath = (path: string) => path.split('/').map(encodeURIComponent).join('/');
