// The endpoints for operators, and what the caller may do: overview, workers, tool servers, changed tools, keys, usage, the audit.
import type {
  ApiKey,
  AuditRow,
  Me,
  Overview,
  ShownWorker,
  ToolChange,
  ToolServer,
  UsageRow,
  UsageSum,
} from './answers.js';
import type { CallOptions, Http } from './http.js';
import { PolicyResource } from './policy.js';
import type { CursorOptions, Page, PageOptions } from './resources.js';

export interface AuditFilters {
  since?: string | undefined;
  until?: string | undefined;
  session?: string | undefined;
  principal?: string | undefined;
  tool?: string | undefined;
  outcome?: string | undefined;
  /** The rule of the policy that decided the call. */
  rule?: string | undefined;
  text?: string | undefined;
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
}
