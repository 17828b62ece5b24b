// A cell of the tables beside it, which say what becomes of a run and of a call, whatever happens and in whichever order: state ×
// event, as data. The tables decide nothing: test/contract/transitions.test.ts proves that the store does what every cell says.
import type { JobQueue } from '#libs/backing/job-queue.js';
import type * as reaper from '#libs/runs/processes/reaper-statements.js';
import type { Journal, RunStore } from '#libs/runs/run-store.js';
import type { SessionStore } from '#libs/runs/sessions/session-store.js';
import type { ErrorCode } from '#libs/schemas/errors.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { WaitStore } from '#libs/waits/wait-store.js';

export type Write =
  | `runs.${keyof RunStore}`
  | `journal.${keyof Journal}`
  | `waits.${keyof WaitStore}`
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

export const to = <Next>(next: Next, write: readonly Write[], emit: Emit) => ({ write, next, emit });
export const ignored = (why: string, emit: Emit = 'nothing') => ({ ignored: why, emit });
export const impossible = (why: string) => ({ impossible: why });
