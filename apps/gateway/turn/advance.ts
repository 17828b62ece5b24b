// What becomes of a run and of a call, whatever happens and in whichever order: state × event, as data. The tables decide
// nothing: test/contract/transitions.test.ts proves that the store does what every cell says.
import type { ApprovalStore } from '#libs/approvals/approval-store.js';
import type { QuestionStore } from '#libs/approvals/question-store.js';
import type { JobQueue } from '#libs/backing/job-queue.js';
import type * as reaper from '#libs/runs/processes/reaper-statements.js';
import type { Journal, RunStore } from '#libs/runs/run-store.js';
import type { SessionStore } from '#libs/runs/sessions/session-store.js';
import type { ErrorCode } from '#libs/schemas/errors.js';
import type { TerminalState } from '#libs/schemas/tool-outcome.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';

export type Write =
  | `runs.${keyof RunStore}`
  | `journal.${keyof Journal}`
  | `approvals.${keyof ApprovalStore}`
  | `questions.${keyof QuestionStore}`
  | `sessions.${keyof SessionStore}`
  | `queue.${keyof JobQueue}`
  | `reaper.${keyof typeof reaper}`;

/** What the caller sees: an event of the stream, the code of an error or of a tool's result, or stored data of the run. */
export type Emit = TurnEvent['type'] | ErrorCode | 'nothing' | 'a broken stream' | Stored;
type Stored = 'its events' | 'its answer' | 'its error';

export type Cell<Next> =
  /** The event is written. `same`: the state stays, and something else in the store changes. */
  | { write: readonly Write[]; next: Next | 'same'; emit: Emit }
  /** The event may happen, and changes nothing in the store. */
  | { ignored: string; emit: Emit }
  /** The event cannot happen; the store would refuse its writes. */
  | { impossible: string };

const endedRunStates = ['done', 'failed', 'cancelled'] as const;
/** `none`: the run is not stored, or not any more. The store also has a state `waiting`, which nothing writes. */
export const runStates = ['none', 'running', 'interrupted', ...endedRunStates] as const;
export type RunTableState = (typeof runStates)[number];

/** `approved`: the call is still parked in the journal, but its approval was given. `ended`: any terminal state. */
export const callStates = ['none', 'planned', 'parked', 'approved', 'dispatched', 'ended'] as const;
export type CallTableState = (typeof callStates)[number];

type RunRow = Record<RunTableState, Cell<RunTableState>>;
type CallRow = Record<CallTableState, Cell<CallTableState | TerminalState>>;

const to = <Next>(next: Next, write: readonly Write[], emit: Emit) => ({ write, next, emit });
const ignored = (why: string, emit: Emit = 'nothing') => ({ ignored: why, emit });
const impossible = (why: string) => ({ impossible: why });
const ended = <C>(cell: C) => ({ done: cell, failed: cell, cancelled: cell });
const stored = <C>(cell: C) => ({ running: cell, interrupted: cell, ...ended(cell) });
const journaled = <C>(cell: C) => ({ planned: cell, parked: cell, approved: cell, dispatched: cell, ended: cell });

const noRun = impossible('No such run is stored.');
const plainChat = (emit: Emit) => ignored('A plain chat is not stored.', emit);
const unknownRun = ignored('There is no such run.', 'run_not_found');
const unknownResponse = ignored('There is no such response.', 'response_not_found');
const firstEnd = (emit: Emit = 'nothing') => ignored('The first end counts.', emit);
const adopterDecides = (emit: Emit) => ignored('The run was interrupted: its next owner decides.', emit);
const elsewhere = ignored('Another gateway has the run, or it has ended.', 'shutting_down');
const nobodys = ignored('No gateway runs the run.');
const inProgress = ignored('The run is in progress.');

/** The gateway of a run writes the end of its turn. */
const ends = (next: RunTableState, emit: Emit, none: RunRow['none'] = noRun): RunRow => ({
  none,
  running: to(next, ['runs.end'], emit),
  interrupted: adopterDecides(emit),
  ...ended(firstEnd(emit)),
});
/** The event matters only if the run is interrupted. */
const left = (interrupted: RunRow['interrupted']): RunRow => ({
  none: noRun,
  running: inProgress,
  interrupted,
  ...ended(ignored('The run has ended.')),
});
/** An answer counts even if its gateway was counted as dead, unless another gateway continues the run. */
const answers: RunRow = { ...ends('done', 'done', plainChat('done')), interrupted: to('done', ['runs.end'], 'done') };
const forgets = (none: RunRow['none'], running: RunRow['running'], write: Write): RunRow => ({
  none,
  ...stored(to('none', [write], 'nothing')),
  running,
});

const withKey: RunRow = {
  none: to('running', ['runs.begin'], 'start'),
  running: ignored('The request follows the run, on any gateway.', 'its events'),
  interrupted: to('running', ['runs.adopt'], 'its events'),
  done: ignored('The run has answered.', 'its answer'),
  failed: ignored('The run has failed.', 'its error'),
  cancelled: ignored('The run was cancelled.', 'cancelled'),
};

/**
 * `keyed`: a run with an Idempotency-Key; `detached`: a run that outlives its caller; `plain`: neither. A log of events ends with
 * `done` or `error`, unless its run is `interrupted`. `its own call`: the run of a tool call with a key, for which no model is asked.
 */
export const runTable = {
  request: {
    none: to('running', ['runs.begin'], 'start'),
    ...stored(impossible('Every request gets an id of its own.')),
  },
  'request with a key': withKey,
  'request with a key, its own call waits': { ...withKey, interrupted: ignored('It waits.', 'approval_required') },
  'request with a key, another body': {
    none: impossible('There is no first body.'),
    ...stored(ignored('The key stands for the first request.', 'idempotency_mismatch')),
  },
  // The earlier run stays stored without the key.
  'request with a key, a day later': {
    none: impossible('No key runs out.'),
    ...stored(to('same', ['runs.begin'], 'start')),
  },

  'round planned': {
    none: to('running', ['runs.begin', 'runs.planRound'], 'tool_call'),
    ...stored(elsewhere),
    running: to('same', ['runs.planRound'], 'tool_call'),
  },
  'round planned by a former gateway': { none: elsewhere, ...stored(elsewhere) },
  answered: answers,
  'calls handed back': answers,
  'answered by a former gateway': { none: noRun, ...stored(ignored('Another gateway has the run.', 'done')) },
  'answered, store away': { none: noRun, ...stored(ignored('The end is written when the store is back.', 'done')) },

  'failed, wrong request': ends('failed', 'error', plainChat('error')),
  'failed, model away, plain': ends('failed', 'error', plainChat('error')),
  'failed, model away, detached': ends('failed', 'error'),
  'failed, model away, keyed': ends('interrupted', 'error'),
  'failed, worker or store away, detached, no round': ends('failed', 'error'),
  'failed, worker or store away, detached, a round': ends('interrupted', 'error'),

  'caller gone, plain': ends('cancelled', 'nothing', plainChat('nothing')),
  'caller gone, keyed': ends('interrupted', 'nothing'),
  'caller gone, detached': { none: noRun, ...stored(ignored('The run goes on without its caller.')) },
  'cancel asked': {
    ...ends('cancelled', 'cancelled', unknownRun),
    interrupted: to('cancelled', ['runs.cancel'], 'cancelled'),
  },
  // The run is not detached any more: once it is reaped, only a retry with its key continues it.
  'cancel asked, its gateway gone': {
    none: unknownRun,
    running: to('same', ['runs.cancel'], 'nothing'),
    interrupted: to('cancelled', ['runs.cancel'], 'cancelled'),
    ...ended(firstEnd()),
  },
  'gateway stopping, plain': ends('cancelled', 'shutting_down', plainChat('shutting_down')),
  'gateway stopping, keyed or detached': ends('interrupted', 'shutting_down'),
  'gateway lost': {
    none: plainChat('a broken stream'),
    ...stored(nobodys),
    running: to('interrupted', ['reaper.interruptRuns'], 'a broken stream'),
  },
  // The store did not confirm the beginning or the end of the run.
  'not under way at its gateway': {
    none: noRun,
    ...stored(nobodys),
    running: to('interrupted', ['runs.interruptOrphans'], 'nothing'),
  },

  // Any gateway advances a detached run that is due.
  due: left(to('running', ['runs.adopt'], 'its events')),
  'due, a call waits for a person': left(ignored('A decision, an answer or the expiry makes the run due.')),
  'due, keyed, no round': left(ignored('The caller begins the run again.')),
  'due, its own call never began': left(ignored('The caller makes the call again.')),
  'due, its own call approved': left(to('running', ['runs.adopt'], 'its events')),
  'due, keyed, it had failed': left(ignored('The caller may try again.')),
  'due, its API key withdrawn': left(to('failed', ['runs.adopt', 'runs.end'], 'shutting_down')),
  'due, keyed, its API key withdrawn': left(ignored('Only a retry with the key continues the run.')),
  'due, continued five times': left(to('failed', ['runs.adopt', 'runs.end'], 'shutting_down')),

  'its own call waits for a person': ends('interrupted', 'approval_required'),

  // A retry with the key continues the run for a day, but its planned calls only for the time of a turn.
  'ended 10 minutes ago': {
    none: noRun,
    ...stored(to('same', ['reaper.forgetEvents'], 'nothing')),
    running: inProgress,
  },
  'ended a day ago, its session gone': forgets(noRun, inProgress, 'reaper.forgetRuns'),
  deleted: forgets(unknownResponse, ignored('The run is in progress.', 'invalid_value'), 'runs.remove'),
  'deleted, one of its calls open': {
    none: unknownResponse,
    ...stored(ignored('A call of the run is in progress.', 'invalid_value')),
  },
  'its session deleted': forgets(noRun, inProgress, 'sessions.delete'),
} satisfies Record<string, RunRow>;

export type RunEvent = keyof typeof runTable;

const noCall = impossible('No such call is journaled.');
const forgotten = ignored('There is no such call any more.');
const once = ignored('A terminal state is never left.');
const hasWorker = ignored('A worker has the call.');
const unapproved = impossible('A call that nobody has approved does not run.');
const notTakenUp = impossible('The call is taken up first.');
const noFence = impossible('Only a claim has a fence.');
const asksAgain = ignored('The caller asks again, and finds the call approved.', 'queue_full');
const asksNothing = impossible('A tool server asks only while the call runs.');
const waits = ignored('The call waits for a person, and that time does not count.');
const decided = ignored('The first decision counts.', 'approval_already_decided');
const dropped = ignored('The journal has no such planned call: the job is dropped.');
const outcomeEmitted = ignored('The outcome is emitted.', 'tool_result');
const late = ignored('Another claim has the call, or the call has ended: a late outcome is dropped.');
const spooled = ignored('The outcome is spooled, and loaded once.');
const workerDecides = ignored('The worker gets the request, and ends the call.');
const endOfRunDecides = ignored('The end of the run decides about the call.');
const laterTurn = ignored('A later request decides about the call, or runs the call.');
const continuable = ignored('The run can be continued.');
const finishes = ignored('The call ends by itself, and is recorded.');

const cancelled = (write: Write) => to('cancelled' as const, [write], 'cancelled');
const closed = to('cancelled' as const, ['approvals.close', 'journal.end'] as const, 'cancelled');
const timedOut = to('failed' as const, ['journal.end'] as const, 'tool_timeout');
const completed = to('completed' as const, ['journal.end'] as const, 'tool_result');
const refused = to('cancelled' as const, ['journal.cancelPlanned'] as const, 'tool_unavailable');
const refusal = { none: forgotten, planned: refused, parked: unapproved };

/** `others`: the cell of every state that `cells` does not name, except `none` and `ended`. */
const call = (cells: Partial<CallRow>, others: CallRow['planned']): CallRow => ({
  none: noCall,
  ...journaled(others),
  ended: once,
  ...cells,
});
const stopped = call({ parked: endOfRunDecides, dispatched: workerDecides }, cancelled('journal.end'));
const lost = (dispatched: CallRow['dispatched']) => call({ dispatched }, ignored('No worker has the call.'));
const plans = (none: CallRow['none']): CallRow => ({
  none,
  ...journaled(impossible('Every call gets an id of its own.')),
});
const decision = (parked: CallRow['parked']): CallRow => ({
  none: ignored('There is no such approval.', 'approval_not_found'),
  ...journaled(decided),
  parked,
});
const delivery = (dispatched: CallRow['dispatched']): CallRow => ({
  none: dropped,
  ...journaled(dropped),
  planned: to('dispatched', ['journal.claim'], 'tool_progress'),
  dispatched,
  ended: outcomeEmitted,
});

/**
 * A server call. A call of the caller is audited when it is planned, and nothing changes it later. An end, a decision and an answer
 * are each written with one row of the audit. `journal.plan` stands for `runs.planRound` too. The end of a call emits the code of
 * its outcome, or `tool_result` if the outcome has no code.
 */
export const callTable = {
  'planned, allowed': plans(to('planned', ['journal.plan'], 'tool_call')),
  'planned, needs approval': plans(to('parked', ['journal.plan'], 'approval_required')),
  'planned, refused': plans(to('denied', ['journal.plan'], 'tool_denied')),
  // The queue is full, no worker comes, the gateway stops, or the store was away. In a chat, the model gets the error.
  'refused a place, own call': call({ ...refusal, approved: asksAgain }, hasWorker),
  'refused a place, in a chat': call({ ...refusal, approved: refused }, hasWorker),
  'skipped, the call before it asks': call(
    { parked: unapproved, dispatched: impossible('The call was not begun.') },
    cancelled('journal.end'),
  ),
  'a kept result answers': call({ parked: unapproved, dispatched: hasWorker }, completed),

  approved: decision(to('approved', ['approvals.decide'], 'nothing')),
  'approved, edited': decision(to('approved', ['approvals.decide'], 'nothing')),
  'approved, its run is over': decision(closed),
  denied: decision(to('denied', ['approvals.decide', 'journal.end'], 'approval_denied')),
  'approval expired': call(
    { parked: to('denied', ['approvals.close', 'journal.end'], 'approval_expired') },
    ignored('The approval was decided in time.'),
  ),
  'approval not used for a day': call(
    { parked: waits, approved: to('denied', ['approvals.close', 'journal.end'], 'approval_expired') },
    ignored('The approval was used.'),
  ),

  // The claim of a quick safe call is written with its outcome.
  claimed: delivery(hasWorker),
  'delivered again, safe': delivery(ignored('The call runs again under its claim.')),
  'delivered again, unsafe, its worker lives': delivery(
    ignored('The job is put back until the worker ends the call, or is lost.'),
  ),
  'delivered again, unsafe, its worker gone': delivery(to('indeterminate', ['journal.end'], 'tool_outcome_unknown')),
  'taken up': call(
    {
      planned: to('same', ['journal.replan'], 'tool_progress'),
      parked: waits,
      approved: to('planned', ['journal.replan'], 'tool_progress'),
      ended: outcomeEmitted,
    },
    ignored('The outcome is waited for.'),
  ),
  'job lost from the queue': call({ planned: to('same', ['queue.add'], 'nothing') }, ignored('The call needs no job.')),

  'asks a question': call(
    {
      dispatched: to('same', ['questions.ask'], 'approval_required'),
      ended: ignored('Nobody is asked any more.', 'tool_failed'),
    },
    asksNothing,
  ),
  'question answered': call(
    { planned: decided, dispatched: to('same', ['questions.answer'], 'tool_progress'), ended: decided },
    asksNothing,
  ),
  'question expired': call(
    {
      planned: to('same', ['approvals.close'], 'nothing'),
      dispatched: to('same', ['approvals.close'], 'tool_progress'),
      ended: to('same', ['approvals.close'], 'nothing'),
    },
    asksNothing,
  ),

  outcome: call({ dispatched: completed }, noFence),
  'outcome, not claimed, safe': call(
    { planned: completed, parked: unapproved, approved: notTakenUp, ended: late },
    late,
  ),
  'outcome, its claim unanswered, safe': call({ parked: unapproved, approved: notTakenUp, ended: late }, completed),
  'outcome of an earlier claim': call({ none: forgotten, parked: noFence, approved: noFence, ended: late }, late),
  'outcome, store away': call({ parked: unapproved, approved: notTakenUp, ended: spooled }, spooled),
  'late or cancelled before its worker began': call(
    { planned: timedOut, parked: unapproved, approved: notTakenUp },
    hasWorker,
  ),

  'cancel asked': stopped,
  'gateway stopping, plain run': stopped,
  // The call is not ended: the next owner of the run continues the call.
  'gateway stopping, keyed or detached run': call({ dispatched: finishes }, continuable),
  'cancel asked, its worker silent': call({ parked: endOfRunDecides }, cancelled('journal.end')),
  'time is up': call({ parked: waits, dispatched: workerDecides }, timedOut),
  'time is up, its worker silent': call({ parked: waits }, timedOut),

  'worker lost, unsafe': lost(to('indeterminate', ['reaper.judgeUnsafe'], 'tool_outcome_unknown')),
  'worker lost, safe': lost(to('planned', ['reaper.replanSafe', 'queue.add'], 'nothing')),
  'worker lost, safe, the third': lost(to('failed', ['reaper.judgeWorn'], 'tool_crashed')),
  'gateway lost, no run': call({ planned: ignored('The job is in the queue.'), dispatched: finishes }, laterTurn),
  'gateway lost, plain run': call({ planned: cancelled('reaper.cancelOrphans'), dispatched: finishes }, closed),
  'gateway lost, keyed or detached run': call({ dispatched: finishes }, continuable),

  'run done': call({ planned: cancelled('reaper.cancelOrphans'), dispatched: finishes }, laterTurn),
  'run done, taken up by a later turn': call({ dispatched: finishes }, laterTurn),
  'run failed or cancelled': call({ planned: cancelled('reaper.cancelOrphans'), dispatched: finishes }, closed),
  'keyed run left for 10 minutes': call(
    { planned: cancelled('reaper.cancelOrphans'), dispatched: finishes },
    continuable,
  ),
  'detached run left for 10 minutes': call({ dispatched: finishes }, continuable),
  'not begun 10 minutes after its time': call(
    { planned: to('failed', ['reaper.giveUpOverdue'], 'tool_timeout'), dispatched: hasWorker },
    waits,
  ),
  'ended a day ago, its session gone': call({ ended: to('none', ['reaper.forgetCalls'], 'nothing') }, finishes),
} satisfies Record<string, CallRow>;

export type CallEvent = keyof typeof callTable;
