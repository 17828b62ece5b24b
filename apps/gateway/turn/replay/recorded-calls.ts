// Answers the calls of a replay with what a stored run got for them, or with what a draft of the policy says. Runs nothing and
// writes nothing.
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { Effect, PolicyDecision } from '#libs/policy/decision.js';
import type { StoredCall } from '#libs/runs/run-store.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { failedOutcome, type ReplayedCall, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { Decide } from '../../govern/decide.js';
import type { Call, RunnableCall } from '../call.js';
import type { ToolRunner } from '../dispatch/tool-runner.js';

/** A draft of the policy, for the caller of the recorded run. */
export type JudgeCall = (...call: Parameters<Decide>) => PolicyDecision;

export class RecordedCalls implements ToolRunner {
  /** By the ids of the replayed calls. */
  private readonly replayed = new Map<string, ReplayedCall>();
  private readonly left: StoredCall[];

  constructor(
    recorded: readonly StoredCall[],
    private readonly judge?: JudgeCall,
  ) {
    // A call of a replay that had no result has none for another replay either.
    this.left = recorded.filter(
      ({ kind, outcome, replayed }) => kind === 'server' && outcome !== undefined && replayed?.result !== 'none',
    );
  }

  /** Where the result of a call came from, once the call is planned. */
  factsOf = (callId: string): ReplayedCall => this.replayed.get(callId) ?? { result: 'none' };

  /** Only a draft decides anything. A call that would need an approval goes on: nobody is asked. */
  readonly decide: Decide = (tool, args, context) => {
    if (this.judge === undefined) return { effect: 'allow', rule: 'replay' };
    const decision = this.judge(tool, args, context);
    this.replayed.set((context as CallContext).callId, { result: 'none', verdict: decision.effect });
    return decision.effect === 'deny' ? decision : { ...decision, effect: 'allow' };
  };

  plan(call: Call, tool: CatalogTool, args: JsonObject): RunnableCall {
    const drafted = this.replayed.get(call.id)?.verdict;
    const { recorded, result } = this.take(tool, args, drafted);
    if (this.judge === undefined) call.policyRule = recorded?.policyRule;
    const verdict = drafted ?? (recorded && verdictOf(recorded));
    this.replayed.set(call.id, { result, ...(verdict === undefined ? {} : { verdict }) });
    call.answer(args, recorded === undefined ? noResult : asRecorded(recorded.outcome!));
    return call as RunnableCall;
  }

  /** A search finds what was found. One that was not recorded is made now: it reads the catalog and nothing else. */
  async answer(call: Call, args: JsonObject, work: () => Promise<ToolOutcome>): Promise<void> {
    const hash = canonicalHash(args);
    const at = this.left.findIndex(
      ({ name, server, state, arguments: sent }) =>
        name === call.name && server === '' && state === 'completed' && canonicalHash(sent) === hash,
    );
    const [recorded] = at === -1 ? [] : this.left.splice(at, 1);
    this.replayed.set(call.id, { result: recorded === undefined ? 'none' : 'same' });
    call.answer(args, recorded === undefined ? await work() : asRecorded(recorded.outcome!));
  }

  private take(tool: CatalogTool, args: JsonObject, drafted: Effect | undefined) {
    const hash = canonicalHash(args);
    const fits = (call: StoredCall) =>
      call.server === tool.server && call.tool === tool.tool && isResultUnder(drafted, call);
    const same = this.left.findIndex((call) => fits(call) && canonicalHash(call.arguments) === hash);
    const at = same === -1 ? this.left.findIndex(fits) : same;
    const [recorded] = at === -1 ? [] : this.left.splice(at, 1);
    const result: ReplayedCall['result'] = at === -1 ? 'none' : same === -1 ? 'other_arguments' : 'same';
    return { recorded, result };
  }

  run(): Promise<ToolOutcome> {
    return Promise.reject(new Error('a replayed call was to run'));
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

const noResult = failedOutcome('failed', 'tool_failed', 'The recorded run has no result for this call');

/** A refusal of the policy of then is no result under a draft that lets the call go on, nor is a person's where none is asked. */
function isResultUnder(drafted: Effect | undefined, { state, outcome }: StoredCall): boolean {
  if (drafted === undefined || state !== 'denied') return true;
  return drafted === 'require_approval' && outcome?.error?.code !== 'tool_denied';
}

/** What the policy said of a recorded call. A person can deny only what needed an approval. */
function verdictOf({ approvalId, policyRule, replayed, state, outcome }: StoredCall): Effect | undefined {
  if (replayed !== undefined) return replayed.verdict;
  if (approvalId !== undefined) return 'require_approval';
  if (policyRule === undefined) return undefined;
  return state === 'denied' && outcome?.error?.code === 'tool_denied' ? 'deny' : 'allow';
}

/** The result took its time then, not now. */
function asRecorded({ queueWaitMs: _wait, cached: _cached, ...outcome }: ToolOutcome): ToolOutcome {
  return { ...outcome, durationMs: 0 };
}
