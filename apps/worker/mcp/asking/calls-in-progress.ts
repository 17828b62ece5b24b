// The calls of one connection that are in progress, and which of them a question of its server belongs to.
import { refused } from './elicitation.js';
import { callScope, type ToolCallOptions } from '../wire/call-scope.js';

export class CallsInProgress {
  /** Each with the number of its questions that are not answered yet. */
  private readonly calls = new Map<ToolCallOptions, number>();

  /** `shared`: sessions share the connection, so a question that does not name its call may belong to another session. */
  constructor(private readonly shared: boolean) {}

  add(call: ToolCallOptions): void {
    this.calls.set(call, 0);
  }

  delete(call: ToolCallOptions): void {
    this.calls.delete(call);
  }

  /**
   * The call that a question belongs to: the one on whose stream it arrived. On a pipe or a notification stream, the call is
   * known only if the server belongs to one session, and all its other calls wait for answers, perhaps of people who never come back.
   * @throws ProtocolError if several calls may have asked
   */
  asking(): ToolCallOptions | undefined {
    const scope = callScope.getStore();
    if (scope !== undefined) return this.calls.has(scope) ? scope : undefined;
    if (this.shared) return undefined;
    const all = [...this.calls.keys()];
    const running = all.filter((call) => this.calls.get(call) === 0);
    const [call, ...others] = running.length === 0 ? all : running;
    if (others.length > 0) throw refused('several calls are in progress, and it is unknown which one asks');
    return call;
  }

  /** The call that a log message belongs to, as far as it is known. */
  logging(): ToolCallOptions | undefined {
    const scope = callScope.getStore();
    if (scope !== undefined) return this.calls.has(scope) ? scope : undefined;
    return !this.shared && this.calls.size === 1 ? this.calls.keys().next().value : undefined;
  }

  /** Counts the question as open until it is answered. */
  async answered<T>(call: ToolCallOptions, answer: Promise<T>): Promise<T> {
    this.count(call, 1);
    try {
      return await answer;
    } finally {
      this.count(call, -1);
    }
  }

  private count(call: ToolCallOptions, change: 1 | -1): void {
    const open = this.calls.get(call);
    if (open !== undefined) this.calls.set(call, open + change);
  }
}
