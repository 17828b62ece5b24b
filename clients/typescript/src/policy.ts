// The policy: what is in force, what it says of a call, and what a draft would change. Nothing here changes it: its file does.
import type { DraftedRule, Policy, PolicyExplanation, SimulationEvent, UnusedRights } from './answers.js';
import { type ShownError, SignalboxError, toSignalboxError } from './errors.js';
import { type CallOptions, type Http, RequestTimer } from './http.js';
import type { JsonObject } from './json.js';
import { readEvents } from './read-events.js';

export interface ExplainedCall {
  /** `server/tool` */
  tool: string;
  arguments?: JsonObject | undefined;
  /** Absent: the caller itself. Others are for administrators, as is a draft. */
  principal?: string | undefined;
  roles?: readonly string[] | undefined;
  key_id?: string | undefined;
  /** A draft in place of the policy in force. */
  policy?: string | undefined;
}

export interface SimulatedDraft {
  /** YAML: `rules` and `default`, or both below `policy`. */
  policy: string;
  /** ISO 8601; absent: 7 days ago. */
  since?: string | undefined;
  /** Absent: now. */
  until?: string | undefined;
  /** A rule of the draft whose calls are listed too if nothing changes. */
  rule?: string | undefined;
}

export class PolicyResource {
  constructor(private readonly http: Http) {}

  /** The rules in force, with the calls that each decided in the last 7 days. */
  show(options?: CallOptions): Promise<Policy> {
    return this.http.json({ method: 'GET', path: '/api/policy' }, options);
  }

  /** Any caller may ask about its own calls. @throws SignalboxError with `problems` for an invalid draft */
  explain(call: ExplainedCall, options?: CallOptions): Promise<PolicyExplanation> {
    return this.http.json({ method: 'POST', path: '/api/policy/explain', json: call }, options);
  }

  /** What would change, newest calls first. Leaving the loop ends it. @throws SignalboxError with `problems` for an invalid draft */
  async *simulate(draft: SimulatedDraft, { signal }: CallOptions = {}): AsyncGenerator<SimulationEvent, void> {
    const timer = new RequestTimer(this.http.idleTimeoutMs, signal);
    try {
      const headers = { accept: 'text/event-stream' };
      const response = await this.http.attempt(
        { method: 'POST', path: '/api/policy/simulate', json: draft, headers },
        timer,
      );
      for await (const { data } of readEvents(response.body!, timer)) {
        if (data === '[DONE]') return;
        const event = JSON.parse(data) as SimulationEvent | { error: ShownError };
        if ('error' in event) throw toSignalboxError(event.error);
        yield event;
      }
      throw new SignalboxError('stream_cut', 'The stream ended before the simulation did');
    } catch (thrown) {
      throw timer.explain(thrown);
    } finally {
      timer.end();
    }
  }

  /** The narrowest rule that would have allowed a call that waited for an approval. */
  draft(approvalId: string, options?: CallOptions): Promise<DraftedRule> {
    return this.http.json({ method: 'POST', path: '/api/policy/draft', json: { approval_id: approvalId } }, options);
  }

  /** What keys and rules allow that no call used. */
  unused({
    days,
    limit,
    after,
    ...options
  }: CallOptions & { days?: number; limit?: number; after?: string } = {}): Promise<UnusedRights> {
    return this.http.json({ method: 'GET', path: '/api/policy/unused', query: { days, limit, after } }, options);
  }
}
