// The state of a turn: its conversation, its counts, and the bound that it has reached. The state can be rebuilt from the stored
// rounds, so that a turn can continue after any of them.
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Config } from '#libs/config/schema.js';
import { type ContentBlock, contentText } from '#libs/schemas/content-block.js';
import type { RequestDeadline } from '#libs/schemas/call-context.js';
import type { ChatMessage, ToolMessage } from '#libs/schemas/message.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { ShownToolResult, StopCause, ToolExecution } from '#libs/schemas/turn-event.js';
import { addUsage, noUsage, type Usage } from '#libs/schemas/usage.js';
import type { Warning } from '#libs/schemas/warning.js';
import { boundStop, type Stop } from '#libs/limits/stop-notice.js';
import type { CallNumbering } from './assemble-message.js';
import { shownServer } from './offer/tool-search.js';
import type { Call } from './call.js';

/** Separates the texts of two rounds when they are combined. */
export const roundSeparator = '\n\n';

export class TurnState {
  round = 0;
  usage: Usage = noUsage;
  text = '';
  /** Warnings without duplicates. Undefined if there are none. */
  warnings: Warning[] | undefined;
  readonly numbering: CallNumbering = { calls: 0, clientCalls: 0 };
  readonly ended: Call[] = [];
  private serverCalls = 0;
  private repeatedFailure = false;
  private readonly failures = new Map<string, number>();

  constructor(
    readonly messages: ChatMessage[],
    private readonly limits: Config['limits'],
    private readonly maxRounds: number,
    private readonly deadline: RequestDeadline,
  ) {}

  /** The bound that the turn has reached: the model gets no more tools, and answers once more. */
  bound(): Stop | undefined {
    if (this.repeatedFailure) return this.stop('repeated_failure');
    if (this.serverCalls > this.limits.calls) return this.stop('max_calls');
    if (steadyNow() >= this.deadline.at) return this.stop('max_time');
    return this.round >= this.maxRounds ? this.stop('max_rounds') : undefined;
  }

  /** Counts a server call. Returns why the call may not run, if the turn has made all its calls. */
  countCall(): Stop | undefined {
    return ++this.serverCalls > this.limits.calls ? this.stop('max_calls') : undefined;
  }

  private stop(cause: Exclude<StopCause, 'budget'>): Stop {
    return boundStop(cause, this.limits, this.maxRounds);
  }

  addUsage(usage: Usage): void {
    this.usage = addUsage(this.usage, usage);
  }

  addText(text: string): void {
    if (text !== '') this.text += this.separator() + text;
  }

  addWarnings(warnings: readonly Warning[] | undefined): void {
    for (const warning of warnings ?? []) {
      this.warnings ??= [];
      if (!this.warnings.some(({ message }) => message === warning.message)) this.warnings.push(warning);
    }
  }

  /** What stands between the text so far and more text. */
  separator(): string {
    return this.text === '' ? '' : roundSeparator;
  }

  /** Adds a server call that has ended. */
  addEnded(call: Call): void {
    this.ended.push(call);
    // Parsed arguments, so that other white space does not make another call.
    const key = `${call.name}\n${call.argumentsText}`;
    const failures = call.state === 'completed' ? 0 : (this.failures.get(key) ?? 0) + 1;
    this.failures.set(key, failures);
    if (failures >= this.limits.repeated_failures) this.repeatedFailure = true;
  }

  toolExecution(sessionId: string, stoppedBy: StopCause | null): ToolExecution | undefined {
    if (this.ended.length === 0) return undefined;
    const reached = this.ended.filter((call) => call.reachedTool);
    return {
      executed: reached.length > 0,
      tools_called: [...new Set(reached.map((call) => call.toolName))],
      session_id: sessionId,
      workspace_path: `/mcp_workspaces/${sessionId}`,
      rounds: this.round,
      stopped_by: stoppedBy,
      calls: this.ended.map(({ id, name, toolName, server, outcome, round }) => ({
        id,
        name: toolName,
        server: shownServer({ name, server, outcome }),
        success: outcome!.state === 'completed',
        duration_ms: Math.round(outcome!.durationMs),
        cached: outcome!.cached ?? false,
        round,
      })),
    };
  }
}

/** Some providers refuse an empty text, and a model that reads one may take the call for failed. */
const nothing: ContentBlock[] = [{ type: 'text', text: 'The tool succeeded and returned nothing.' }];

export function toToolMessage(callId: string, outcome: ToolOutcome): ToolMessage {
  const blocks = outcome.blocks.some((block) => block.type !== 'text' || block.text !== '') ? outcome.blocks : nothing;
  return {
    role: 'tool',
    tool_call_id: callId,
    content: contentText(blocks),
    blocks,
    ...(outcome.state === 'completed' ? {} : { is_error: true }),
  };
}

export function toShownResult(outcome: ToolOutcome): ShownToolResult {
  return {
    success: outcome.state === 'completed',
    content: contentText(outcome.blocks),
    ...(outcome.error === undefined ? {} : { error: outcome.error }),
    ...(outcome.truncated === undefined ? {} : { truncated: outcome.truncated }),
    ...(outcome.cached === undefined ? {} : { cached: outcome.cached }),
    duration_ms: Math.round(outcome.durationMs),
  };
}
