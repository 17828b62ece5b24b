// A turn that is ready to run.
import type { ToolCatalog } from '../../tools/tool-catalog.js';
import type { RunReader } from '../follow.js';
import type { TakeTurnEvents } from '../record.js';

export interface StartedTurn {
  runId: string;
  /** By the gateway's clock until the run is written, then by the store's. */
  readonly createdAt: Date;
  /** The tools that the caller may use. */
  catalog: ToolCatalog;
  /** The turn continues when the caller disconnects. */
  detached: boolean;
  /**
   * Runs the turn, or follows the stored run, and passes its events to `take`. Of a continued run, `take` gets the events that
   * `reader` lacks. Call it once. Resolves after the last event.
   * @throws AppError for a turn that fails
   */
  run: (take: TakeTurnEvents, reader?: RunReader) => Promise<void>;
}
