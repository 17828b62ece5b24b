// A turn that is ready to run.
import type { NewRun } from '#libs/runs/run-store.js';
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

/** A turn that runs here. A class: V8 keeps an object with its own getter, and everything that the object refers to, until a full collection. */
export class TurnHere implements StartedTurn {
  readonly runId: string;
  readonly detached: boolean;

  constructor(
    { id, detached }: Pick<NewRun, 'id' | 'detached'>,
    readonly catalog: ToolCatalog,
    private readonly record: { createdAt: Date },
    readonly run: StartedTurn['run'],
  ) {
    this.runId = id;
    this.detached = detached;
  }

  get createdAt(): Date {
    return this.record.createdAt;
  }
}
