// What becomes of a run: state × event.
import { type Cell, type Emit, ignored, impossible, to, type Write } from './cell.js';

const endedRunStates = ['done', 'failed', 'cancelled'] as const;
/** `none`: the run is not stored, or not any more. */
export const runTableStates = ['none', 'running', 'interrupted', ...endedRunStates] as const;
export type RunTableState = (typeof runTableStates)[number];

type RunRow = Record<RunTableState, Cell<RunTableState>>;

const ended = <C>(cell: C) => ({ done: cell, failed: cell, cancelled: cell });
const stored = <C>(cell: C) => ({ running: cell, interrupted: cell, ...ended(cell) });

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
  'ended 31 days ago, its session gone': forgets(noRun, inProgress, 'reaper.forgetRuns'),
  deleted: forgets(unknownResponse, ignored('The run is in progress.', 'invalid_value'), 'runs.remove'),
  'deleted, one of its calls open': {
    none: unknownResponse,
    ...stored(ignored('A call of the run is in progress.', 'invalid_value')),
  },
  'its session deleted': forgets(noRun, inProgress, 'sessions.delete'),
} satisfies Record<string, RunRow>;

export type RunEvent = keyof typeof runTable;
