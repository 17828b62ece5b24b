// Answers tool calls with what a stored run got for them. Runs nothing and writes nothing.
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { StoredCall } from '#libs/runs/run-store.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { Call, RunnableCall } from '../../apps/gateway/turn/call.js';
import type { ToolRunner } from '../../apps/gateway/turn/dispatch/tool-runner.js';

/** Where a result came from: the same call, a call of the same tool with other arguments, or nowhere. */
export type ResultSource = 'same' | 'other_arguments' | 'none';

export class RecordedToolRunner implements ToolRunner {
  /** By the ids of the replayed calls. */
  readonly sources = new Map<string, ResultSource>();
  private readonly left: StoredCall[];

  constructor(recorded: readonly StoredCall[]) {
    this.left = recorded.filter(({ kind, outcome }) => kind === 'server' && outcome !== undefined);
  }

  plan(call: Call, tool: CatalogTool, args: JsonObject): RunnableCall {
    return call.prepare(tool, args, { replyTo: 'replay', questions: { expiresMs: 0, notify: false } });
  }

  run({ id, tool, arguments: args }: RunnableCall): Promise<ToolOutcome> {
    const hash = canonicalHash(args);
    const ofTool = (call: StoredCall) => call.server === tool.server && call.tool === tool.tool;
    const same = this.left.findIndex((call) => ofTool(call) && canonicalHash(call.arguments) === hash);
    const at = same === -1 ? this.left.findIndex(ofTool) : same;
    this.sources.set(id, at === -1 ? 'none' : same === -1 ? 'other_arguments' : 'same');
    const [recorded] = at === -1 ? [] : this.left.splice(at, 1);
    const nothing = failedOutcome('failed', 'tool_failed', 'The recorded run has no result for this call');
    return Promise.resolve(recorded?.outcome ?? nothing);
  }

  skip(): Promise<void> {
    return Promise.resolve();
  }

  hasWorker(): boolean {
    return true;
  }

  untilWorker(): Promise<void> {
    return Promise.resolve();
  }
}
