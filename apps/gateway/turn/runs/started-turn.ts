// A turn that may begin: its ids, and what runs it.
import type { ToolCatalog } from '../../tools/tool-catalog.js';
import type { RunReader } from '../follow.js';
import type { TakeTurnEvents } from '../record.js';

export interface StartedTurn {
  runId: string;
  /** The gateway's time until the run is written, then the store's. */
  readonly createdAt: Date;
  /** The tools that the caller may use. */
  catalog: ToolCatalog;
  /** The turn continues when the caller disconnects. */
  detached: boolean;
  /**
   * Runs the turn, or follows the stored run, and passes its events on: of a run that is continued, those that `reader` lacks.
   * Call it once. Resolves after the last event.
   * @throws AppError for a turn that fails
   */
  run: (take: TakeTurnEvents, reader?: RunReader) => Promise<void>;
}
