// The store of truth for turns. Ports only; the PostgreSQL adapters are beside it.
// Every method ends within the store's deadline or throws AppError store_unavailable.
import type { NewApproval } from '#libs/waits/wait.js';
import type { Dialect } from '#libs/schemas/dialect.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ProviderState, ToolCall } from '#libs/schemas/message.js';
import type { ServerMethod, ToolJob } from '#libs/schemas/tool-job.js';
import type { CallState, ReplayedCall, ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { StopCause, TurnEvent } from '#libs/schemas/turn-event.js';
import type { Usage } from '#libs/schemas/usage.js';

/** A run with a call that waits for a decision is shown as `waiting`, which is not stored. */
export type RunState = 'running' | 'done' | 'failed' | 'cancelled' | 'interrupted';

export interface NewRun {
  id: string;
  principal: string;
  keyId?: string | undefined;
  requestId: string;
  idempotencyKey?: string | undefined;
  /** SHA-256 of canonical request body and path, to tell a retry from another request; '' if there is no key. */
  requestHash: string;
  sessionId?: string;
  dialect: Dialect;
  detached: boolean;
  /** As the caller named it, or the default model; absent if none is named anywhere. */
  model?: string | undefined;
  /** The request as it was read, to continue the run. */
  request: JsonObject;
  owner: string;
  /** The run that this one replays. No gateway goes on with a replay, and no later turn refers to it. */
  replayOf?: string | undefined;
  /** The caller follows the run as a task (`run-tasks.ts`), so long from its creation on. Absent: the run is no task. */
  taskTtlMs?: number | undefined;
}

export interface StoredRun extends Omit<NewRun, 'owner'> {
  owner: string | null;
  state: RunState;
  createdAt: Date;
  endedAt: Date | null;
  usage: Usage;
  /** The folded answer of a completed run: the data of the `done` event and the whole text. */
  answer: JsonObject | null;
  error: JsonObject | null;
}

/** An interrupted detached run, which can be continued without its caller. */
export interface DetachedRun {
  id: string;
  principal: string;
  keyId: string | null;
  /** The run has an Idempotency-Key, with which its caller may continue it, too. */
  keyed: boolean;
  /** Why the run was interrupted; null if its gateway died. */
  error: JsonObject | null;
  /** One of its calls waits for a decision, or still runs. */
  waits: boolean;
  /** How often the run was continued before. */
  adoptions: number;
}

/** What a model said in one round. */
export interface ModelRound {
  /** Number of the model call in the run, from 1. */
  round: number;
  provider: string;
  model: string;
  content: string;
  reasoning: string;
  /** All calls of the message in order, server and client, under minted ids. */
  toolCalls: ToolCall[];
  providerState?: ProviderState | undefined;
  usage: Usage;
  finishReason: string;
  /** The number of the last event of the model's message. */
  lastEvent: number;
  startedAt: Date;
}

/** A round with its calls, committed before any of them is dispatched. */
export interface PlannedRound extends ModelRound {
  runId: string;
  /** The gateway that runs the turn. The round is refused if another gateway has taken over the run. */
  owner?: string;
  calls: PlannedCall[];
  /** Events of the run that are not stored yet, in order; stored with the round or not at all. */
  events?: readonly NumberedEvent[];
}

/** A call before its row is in the journal. */
export interface PlannedCall {
  id: string;
  kind: 'server' | 'client';
  principal: string;
  sessionId: string;
  /** The name that the model called. */
  name: string;
  server: string;
  tool: string;
  definitionHash: string;
  /** Absent: the call is one of a tool. */
  method?: ServerMethod | undefined;
  /** The validated arguments; an empty object if `outcome` says why the call can never run. */
  arguments: JsonObject;
  safe: boolean;
  /** Set if the call ended before it began (unknown name, bad arguments, denied): its row is terminal from the start. */
  outcome?: ToolOutcome;
  /** The job of a server call, so that a process that finds no such job in the queue can add it again. */
  job?: ToolJob;
  /** The rule that decided, for the audit row. */
  policyRule?: string | undefined;
  /** The approval for which the call is parked. */
  approval?: NewApproval;
  /** The approval that was given to an earlier call like it, which found no place. */
  approvedBefore?: { id: string; approver: string };
  /** Set for a call of a replay, which has no row in the audit. */
  replayed?: ReplayedCall;
}

/** `outcome` is set once the state is terminal. */
export interface StoredCall extends Omit<PlannedCall, 'approval' | 'approvedBefore'> {
  runId: string | null;
  round: number | null;
  position: number;
  state: CallState;
  fence: string | null;
  attempt: number;
  worker: string | null;
  /** Set for a call that needed an approval, whatever was decided. */
  approvalId?: string;
  /** What the call is, or was last, parked for: its approval, or a sign-in. */
  waitId?: string;
}

export interface CallPlace {
  runId: string;
  round: number;
  position: number;
}

export interface StoredRound extends ModelRound {
  runId: string;
  calls: StoredCall[];
}

export interface RunStore {
  /**
   * Writes a new run. If a run with the same (principal, idempotencyKey) exists and has not expired, returns that one.
   * Of concurrent calls exactly one gets `created`.
   */
  begin(run: NewRun): Promise<{ created: boolean; run: StoredRun }>;
  get(principal: string, runId: string): Promise<StoredRun | undefined>;
  /** The run that has the key; undefined if there is none, or the key has expired. */
  ofKey(principal: string, idempotencyKey: string): Promise<StoredRun | undefined>;
  /**
   * Writes the round and its calls in one statement, before anything is dispatched. Calls with an outcome are audited.
   * @throws AppError shutting_down if the run has ended or another gateway drives it: nothing was written.
   */
  planRound(round: PlannedRound, audit: AuditContext): Promise<void>;
  rounds(runId: string): Promise<StoredRound[]>;
  /** False if the run has another owner or has ended; a run that was interrupted meanwhile can still be finished. */
  end(runId: string, owner: string, end: RunEnd): Promise<boolean>;
  /** Gives an interrupted run a new owner; false if another gateway took the run first. */
  adopt(runId: string, owner: string): Promise<boolean>;
  /** Runs that need not wait come first, then the newest. Excludes keyed runs that their callers begin again: those without a round, and
   * those whose own call was refused a place. */
  interruptedDetached(limit: number): Promise<DetachedRun[]>;
  /**
   * Marks runs that `owner` owns but does not run (the store did not confirm their beginning or end) as interrupted, so that a
   * retry can continue them. `isUnderWay` must be true from before a run begins or is adopted until after its end. Returns the ids
   * of the interrupted runs.
   */
  interruptOrphans(owner: string, isUnderWay: (runId: string) => boolean): Promise<string[]>;
  /**
   * Cancels an interrupted run; false in any other state. A running run becomes undetached, so that nobody continues the run if its
   * gateway, which should stop it, turns out to be gone.
   */
  cancel(principal: string, runId: string): Promise<boolean>;
  /**
   * Deletes a run that has ended, with its rounds, calls and events; the audit stays. False if there is no such run,
   * or it or one of its calls is in progress.
   */
  remove(principal: string, runId: string): Promise<boolean>;
  /**
   * What `find_tools` answered in this session, before that time, oldest first: the texts of the last results. Replays do not count.
   */
  foundTools(principal: string, sessionId: string, before?: Date): Promise<string[]>;
  /**
   * The runs (rounds up to the call's own, in order) in which these ids were returned to this principal's callers.
   * Unknown ids, ids of other principals and ids of replays are absent.
   */
  findByCalls(
    principal: string,
    callIds: readonly string[],
  ): Promise<Map<string, { run: StoredRun; rounds: StoredRound[] }>>;
}

export interface RunEnd {
  state: Exclude<RunState, 'running'>;
  usage: Usage;
  answer?: JsonObject;
  error?: JsonObject;
  /** The round that ended the turn, if its calls were not committed before. */
  round?: ModelRound;
  /** The last events of the run, stored with the end or not at all. */
  events?: readonly NumberedEvent[];
  /** The limit that ended the use of tools. */
  stoppedBy?: StopCause | undefined;
}

/** Members of an audit row about the request of a call. */
export interface AuditContext {
  requestId: string;
  traceparent?: string | undefined;
  keyId?: string | undefined;
  ip?: string | undefined;
  model?: string | undefined;
}

export interface CallClaim {
  callId: string;
  worker: string;
  /** The claim must return the arguments: the job does not carry them. */
  withArguments?: boolean;
}

export interface Claimed {
  fence: string;
  attempt: number;
  /** Present if the claim asked for them. */
  arguments?: JsonObject;
}

export interface CallEnd extends AuditContext {
  callId: string;
  /** The fence of the claim; absent if the call was not claimed (safe calls, calls that never ran). */
  fence?: string | undefined;
  worker?: string | undefined;
  /** The isolation under which the tool ran. */
  isolation?: string | undefined;
  outcome: ToolOutcome;
  /** `outcome` as JSON, if it has been made. */
  outcomeText?: string | undefined;
}

export interface Journal {
  /** Journals one call: outside of runs (tools API, MCP endpoint), or in a round that is stored already. */
  plan(call: PlannedCall, audit: AuditContext, place?: CallPlace): Promise<void>;
  /**
   * Gives a planned call that is taken over, or a parked call whose waits permit it, a job and its arguments, and starts its
   * time now. False for any other call.
   */
  replan(job: ToolJob): Promise<boolean>;
  /** planned → dispatched with a new fence; undefined if the call is in any other state. */
  claim(claim: CallClaim): Promise<Claimed | undefined>;
  /**
   * Writes terminal state, outcome and audit row in one statement, shared with concurrent calls (group commit).
   * False if the call had already ended or the fence is stale: nothing was written.
   */
  end(end: CallEnd): Promise<boolean>;
  /** Cancels the given calls that are planned (not dispatched), with audit rows that say why; returns their ids. */
  cancelPlanned(callIds: readonly string[], audit: AuditContext, why?: unknown): Promise<string[]>;
  get(callId: string): Promise<StoredCall | undefined>;
  /** How long ago the call was planned, ms of the database's clock. */
  plannedSinceMs(callId: string): Promise<number | undefined>;
}

export interface NumberedEvent {
  n: number;
  event: TurnEvent;
}

/** The events of stored runs, so that a reader can resume on any gateway. Kept until some minutes after the end of the run. */
export interface EventLog {
  append(runId: string, events: readonly NumberedEvent[]): Promise<void>;
  /** Events after `afterN` in order, from at most `limit` stored rows. */
  read(runId: string, afterN: number, limit: number): Promise<NumberedEvent[]>;
  /** Deletes events after `afterN` and returns the highest number ever used, for a run that is continued. */
  truncate(runId: string, afterN: number): Promise<number>;
}
