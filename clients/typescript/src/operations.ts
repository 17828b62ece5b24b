// The endpoints for operators, and what the caller may do: overview, workers, tool servers, changed tools, keys, usage, the audit.
import type {
  ApiKey,
  AuditProgress,
  AuditRow,
  AuditVerification,
  KeyBudget,
  ListedKey,
  Me,
  ModelsHealth,
  Overview,
  Settings,
  ShownWorker,
  ToolChange,
  ToolServer,
  UsageRow,
  UsageSum,
} from './answers.js';
import { type ShownError, SignalboxError, toSignalboxError } from './errors.js';
import { type CallOptions, type Http, RequestTimer } from './http.js';
import { PolicyResource } from './policy.js';
import { readEvents } from './read-events.js';
import type { CursorOptions, Page, PageOptions } from './resources.js';

export type DecidedToolChange = Pick<ToolChange, 'kind' | 'server' | 'tool' | 'change'>;

export interface AuditFilters {
  since?: string | undefined;
  until?: string | undefined;
  session?: string | undefined;
  principal?: string | undefined;
  tool?: string | undefined;
  outcome?: string | undefined;
  /** The rule of the policy that decided the call. */
  rule?: string | undefined;
  kind?: string | undefined;
  run?: string | undefined;
  text?: string | undefined;
}

export interface KeyFilters {
  /** One, or several separated by commas. */
  state?: string | undefined;
  owner?: string | undefined;
  scope?: ApiKey['scopes'][number] | undefined;
  /** Anywhere in the id, the prefix, the owner or the name. */
  text?: string | undefined;
}

/** What `POST /api/keys` takes. */
export interface NewApiKey extends Partial<Pick<ApiKey, 'roles' | 'tools' | 'limits' | 'budgets'>> {
  owner: string;
  scopes: ApiKey['scopes'];
  name?: string;
  models?: string[];
  /** ISO 8601. */
  expires_at?: string;
}

/** The key itself is in no other answer. */
export type MadeApiKey = ApiKey & { key: string };

export interface UsageFilters {
  by?: readonly ('key' | 'principal' | 'model' | 'tool' | 'day')[] | undefined;
  since?: string | undefined;
  until?: string | undefined;
  key?: string | undefined;
  principal?: string | undefined;
  model?: string | undefined;
  tool?: string | undefined;
}

export class Operations {
  readonly policy: PolicyResource;

  constructor(private readonly http: Http) {
    this.policy = new PolicyResource(http);
  }

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

  /** Providers, aliases and prices, and how their calls went on the gateway that answers. */
  modelsHealth(options?: CallOptions): Promise<ModelsHealth> {
    return this.http.json({ method: 'GET', path: '/api/models/health' }, options);
  }

  /** The settings in force and where they come from, versions, and health checks. */
  settings(options?: CallOptions): Promise<Settings> {
    return this.http.json({ method: 'GET', path: '/api/settings' }, options);
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

  /** All of them or none. Without `kind` it is a tool; instructions have no name in `tool`. */
  async decideToolChanges(
    decision: 'accept' | 'reject',
    changes: readonly (Pick<ToolChange, 'server' | 'hash'> & Partial<Pick<ToolChange, 'kind' | 'tool'>>)[],
    options?: CallOptions,
  ): Promise<DecidedToolChange[]> {
    const reviewed = changes.map(({ kind, server, tool, hash }) => ({ kind, server, tool, hash }));
    const { decided } = await this.http.json<{ decided: DecidedToolChange[] }>(
      { method: 'POST', path: '/api/tools/changes', json: { decision, changes: reviewed } },
      options,
    );
    return decided;
  }

  /** Newest first. */
  keys({ limit, after, signal, timeoutMs, ...filters }: KeyFilters & PageOptions = {}): Promise<{
    data: ListedKey[];
    has_more: boolean;
  }> {
    const query = { ...filters, limit, after };
    return this.http.json({ method: 'GET', path: '/api/keys', query }, optionsOf({ signal, timeoutMs }));
  }

  key(id: string, options?: CallOptions): Promise<ListedKey> {
    return this.http.json({ method: 'GET', path: `/api/keys/${encodeURIComponent(id)}` }, options);
  }

  createKey(key: NewApiKey, options?: CallOptions): Promise<MadeApiKey> {
    return this.http.json({ method: 'POST', path: '/api/keys', json: key }, options);
  }

  /** The old key works for `graceSeconds` more. */
  rotateKey(
    id: string,
    { graceSeconds, ...options }: CallOptions & { graceSeconds?: number } = {},
  ): Promise<MadeApiKey> {
    const path = `/api/keys/${encodeURIComponent(id)}/rotate`;
    return this.http.json({ method: 'POST', path, json: { grace_s: graceSeconds } }, options);
  }

  revokeKey(id: string, options?: CallOptions): Promise<ApiKey> {
    return this.http.json({ method: 'DELETE', path: `/api/keys/${encodeURIComponent(id)}` }, options);
  }

  usage({ signal, timeoutMs, ...filters }: UsageFilters & CallOptions = {}): Promise<{
    data: UsageRow[];
    total: UsageSum;
  }> {
    return this.http.json(
      { method: 'GET', path: '/api/usage', query: usageQuery(filters) },
      optionsOf({ signal, timeoutMs }),
    );
  }

  /** Resolves with the headers; the body is the file. */
  usageCsv({ signal, timeoutMs, ...filters }: UsageFilters & CallOptions = {}): Promise<Response> {
    const query = { ...usageQuery(filters), format: 'csv' };
    return this.http.send(
      { method: 'GET', path: '/api/usage', query },
      optionsOf({ signal, timeoutMs }),
      (response) => response,
    );
  }

  /** The nearest to its end first. */
  budgets({ limit, cursor, ...options }: CursorOptions = {}): Promise<Page<KeyBudget>> {
    return this.http.json({ method: 'GET', path: '/api/usage/budgets', query: { limit, cursor } }, options);
  }

  /** Newest first. */
  audit({ limit, cursor, signal, timeoutMs, ...filters }: AuditFilters & CursorOptions = {}): Promise<Page<AuditRow>> {
    const query = { ...filters, limit, cursor };
    return this.http.json({ method: 'GET', path: '/api/audit', query }, optionsOf({ signal, timeoutMs }));
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

const optionsOf = ({ signal, timeoutMs }: { signal: AbortSignal | undefined; timeoutMs: number | undefined }) => ({
  ...(signal && { signal }),
  ...(timeoutMs !== undefined && { timeoutMs }),
});

const usageQuery = ({ by, ...filters }: UsageFilters) => ({ ...filters, by: by?.join(',') });
