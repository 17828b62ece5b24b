// The endpoints for operators, and what the caller may do: overview, workers, tool servers, changed tools, keys, usage, the audit.
import type {
  ApiKey,
  AuditProgress,
  AuditRow,
  AuditVerification,
  Me,
  Overview,
  ShownWorker,
  ToolChange,
  ToolServer,
  UsageRow,
  UsageSum,
} from './answers.js';
import { type ShownError, SignalboxError, toSignalboxError } from './errors.js';
import { type CallOptions, type Http, RequestTimer } from './http.js';
import { readEvents } from './read-events.js';
import type { CursorOptions, Page, PageOptions } from './resources.js';

export interface AuditFilters {
  since?: string | undefined;
  until?: string | undefined;
  session?: string | undefined;
  principal?: string | undefined;
  tool?: string | undefined;
  outcome?: string | undefined;
  kind?: string | undefined;
  run?: string | undefined;
  text?: string | undefined;
}

export class Operations {
  constructor(private readonly http: Http) {}

  /** What waits for a person, what is wrong, what runs, and the last 24 hours. */
  overview(options?: CallOptions): Promise<Overview> {
    return this.http.json({ method: 'GET', path: '/api/overview' }, options);
  }

  /** Who asks, and how one can sign in. Needs no key. */
  me(options?: CallOptions): Promise<Me> {
    return this.http.json({ method: 'GET', path: '/api/me' }, options);
  }

  async workers(options?: CallOptions): Promise<ShownWorker[]> {
    const { workers } = await this.http.json<{ workers: ShownWorker[] }>(
      { method: 'GET', path: '/api/workers' },
      options,
    );
    return workers;
  }

  async servers(options?: CallOptions): Promise<ToolServer[]> {
    const { servers } = await this.http.json<{ servers: ToolServer[] }>(
      { method: 'GET', path: '/api/servers' },
      options,
    );
    return servers;
  }

  toolChanges({ limit, after, ...options }: PageOptions = {}): Promise<{ changes: ToolChange[]; has_more: boolean }> {
    return this.http.json({ method: 'GET', path: '/api/tools/changes', query: { limit, after } }, options);
  }

  /** All of them or none. */
  async decideToolChanges(
    decision: 'accept' | 'reject',
    changes: readonly { server: string; tool: string; hash: string | null }[],
    options?: CallOptions,
  ): Promise<{ server: string; tool: string; change: ToolChange['change'] }[]> {
    const { decided } = await this.http.json<{
      decided: { server: string; tool: string; change: ToolChange['change'] }[];
    }>({ method: 'POST', path: '/api/tools/changes', json: { decision, changes } }, options);
    return decided;
  }

  /** Newest first. */
  keys({ limit, after, ...options }: PageOptions = {}): Promise<{ data: ApiKey[]; has_more: boolean }> {
    return this.http.json({ method: 'GET', path: '/api/keys', query: { limit, after } }, options);
  }

  /** `by`: `key`, `model`, `tool`, `day`. */
  usage({
    by,
    since,
    until,
    ...options
  }: CallOptions & {
    by?: readonly ('key' | 'model' | 'tool' | 'day')[];
    since?: string;
    until?: string;
  } = {}): Promise<{
    data: UsageRow[];
    total: UsageSum;
  }> {
    return this.http.json({ method: 'GET', path: '/api/usage', query: { by: by?.join(','), since, until } }, options);
  }

  /** Newest first. */
  audit({ limit, cursor, signal, timeoutMs, ...filters }: AuditFilters & CursorOptions = {}): Promise<Page<AuditRow>> {
    const options = { ...(signal && { signal }), ...(timeoutMs !== undefined && { timeoutMs }) };
    return this.http.json({ method: 'GET', path: '/api/audit', query: { ...filters, limit, cursor } }, options);
  }

  auditRow(id: string, options?: CallOptions): Promise<AuditRow> {
    return this.http.json({ method: 'GET', path: `/api/audit/${encodeURIComponent(id)}` }, options);
  }

  /** The file that proves a row, as a text whose bytes matter: `signalbox audit prove FILE` checks it. */
  auditProof(id: string, options: CallOptions = {}): Promise<string> {
    const path = `/api/audit/${encodeURIComponent(id)}/proof`;
    return this.http.send({ method: 'GET', path }, options, (response) => response.text());
  }

  /** All rows that match, newest first, as one download: read the body with `blob()` or as a stream. */
  exportAudit({
    format,
    signal,
    ...filters
  }: AuditFilters & { format: 'ndjson' | 'csv'; signal?: AbortSignal }): Promise<Response> {
    const request = { method: 'GET' as const, path: '/api/audit/export', query: { ...filters, format } };
    return this.http.send(request, signal === undefined ? {} : { signal }, (response) => response);
  }

  /** Takes as long as there are rows; `timeoutMs` is for the pauses between events. Aborting ends it. */
  async verifyAudit(
    { since, signal, timeoutMs }: CallOptions & { since?: string | undefined } = {},
    onProgress: (progress: AuditProgress) => void = () => undefined,
  ): Promise<AuditVerification> {
    const timer = new RequestTimer(timeoutMs ?? this.http.idleTimeoutMs, signal);
    try {
      const request = { method: 'POST' as const, path: '/api/audit/verify', json: { since } };
      const response = await this.http.attempt(request, timer);
      for await (const { data } of readEvents(response.body!, timer)) {
        if (data === '[DONE]') break;
        const event = JSON.parse(data) as AuditProgress | AuditVerification | { error: ShownError };
        if ('error' in event) throw toSignalboxError(event.error);
        if (event.type === 'result') return event;
        onProgress(event);
      }
    } catch (thrown) {
      throw timer.explain(thrown);
    } finally {
      timer.end();
    }
    throw new SignalboxError('stream_cut', 'The stream ended before the result');
  }
}
