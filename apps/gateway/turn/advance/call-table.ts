// What becomes of a call: state × event.
import type { TerminalState } from '#libs/schemas/tool-outcome.js';
import { type Cell, ignored, impossible, to, type Write } from './cell.js';

/** `approved`: the call is still parked in the journal, but what it waits for was given. `ended`: any terminal state. */
export const callTableStates = ['none', 'planned', 'parked', 'approved', 'dispatched', 'ended'] as const;
export type CallTableState = (typeof callTableStates)[number];

type CallRow = Record<CallTableState, Cell<CallTableState | TerminalState>>;

const journaled = <C>(cell: C) => ({ planned: cell, parked: cell, approved: cell, dispatched: cell, ended: cell });

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
const closed = to('cancelled' as const, ['waits.close'] as const, 'cancelled');
const timedOut = to('failed' as const, ['journal.end'] as const, 'tool_timeout');
const completed = to('completed' as const, ['journal.end'] as const, 'tool_result');
const parks = to('parked' as const, ['waits.park'] as const, 'sign_in_required');
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
 * A server call. A call of the caller is audited when it is planned, and nothing changes it later. An end, a decision, and an answer
 * or its lack are each written with one row of the audit. `journal.plan` stands for `runs.planRound` too. The end of a call emits
 * the code of its outcome, or `tool_result` if the outcome has no code.
 */
export const callTable = {
  'planned, allowed': plans(to('planned', ['journal.plan'], 'tool_call')),
  'planned, needs approval': plans(to('parked', ['journal.plan'], 'approval_required')),
  'planned, needs approval, one like it found no place': plans(
    to('planned', ['waits.takeUnused', 'journal.plan'], 'tool_call'),
  ),
  'planned, refused': plans(to('denied', ['journal.plan'], 'tool_denied')),
  // The queue is full, no worker comes, the gateway stops, or the store was away. In a chat, the model gets the error.
  'refused a place, own call': call({ ...refusal, approved: asksAgain }, hasWorker),
  'refused a place, in a chat': call({ ...refusal, approved: refused }, hasWorker),
  'skipped, the call before it asks': call(
    { parked: unapproved, dispatched: impossible('The call was not begun.') },
    to('cancelled', ['journal.end'], 'tool_unavailable'),
  ),
  'a kept result answers': call({ parked: unapproved, dispatched: hasWorker }, completed),

  approved: decision(to('approved', ['waits.decide'], 'nothing')),
  'approved, edited': decision(to('approved', ['waits.decide'], 'nothing')),
  'approved, its run is over': decision(closed),
  denied: decision(to('denied', ['waits.decide'], 'approval_denied')),
  'approval expired': call(
    { parked: to('denied', ['waits.close'], 'approval_expired') },
    ignored('The approval was decided in time.'),
  ),
  'approval not used for a day': call(
    { parked: waits, approved: to('denied', ['waits.close'], 'approval_expired') },
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
      dispatched: to('same', ['waits.ask'], 'approval_required'),
      ended: ignored('Nobody is asked any more.', 'tool_failed'),
    },
    asksNothing,
  ),
  'question answered': call(
    { planned: decided, dispatched: to('same', ['waits.decide'], 'tool_progress'), ended: decided },
    asksNothing,
  ),
  'question expired': call(
    {
      planned: to('same', ['waits.close'], 'nothing'),
      dispatched: to('same', ['waits.close'], 'tool_progress'),
      ended: to('same', ['waits.close'], 'nothing'),
    },
    asksNothing,
  ),

  // The tool has not begun: its server refused the caller. Its worker is free for other calls.
  'a sign-in is needed': call(
    {
      planned: parks,
      parked: impossible('No worker has the call.'),
      approved: notTakenUp,
      ended: ignored('Nobody is asked any more.', 'tool_result'),
    },
    parks,
  ),
  'signed in': decision(to('approved', ['waits.decide'], 'nothing')),
  'sign-in refused': decision(to('denied', ['waits.decide'], 'connection_needed')),
  'sign-in expired': call(
    { parked: to('denied', ['waits.close'], 'connection_needed') },
    ignored('The sign-in was made in time.'),
  ),
  'signed in, not used for a day': call(
    { parked: waits, approved: to('denied', ['waits.close'], 'connection_needed') },
    ignored('The call has run since, or waits for something else.'),
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
  // It is planned again, or runs again.
  'cancel asked, its worker lost, safe': call({ parked: endOfRunDecides }, cancelled('journal.end')),
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
