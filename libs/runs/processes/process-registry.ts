// Heartbeats of gateways and workers, and what happens to the work of those that stopped.
import type { JsonObject } from '#libs/schemas/json.js';

/** A process without a heartbeat for this long may be given up by anyone. */
export const processExpiryMs = 6_000;

export interface ProcessInfo {
  id: string;
  kind: 'gateway' | 'worker';
  /** Shown in health: isolation, and the tool servers of a worker. */
  details: JsonObject;
}

/** A tool server as one worker has it: `servers` of its details. */
export interface ServerReport {
  name: string;
  state: 'starting' | 'ready' | 'unavailable' | 'refused';
  /** What its tools run under; absent where it was refused. */
  isolation?: string;
  /** For the operator: why it is not ready. */
  reason?: string;
}

export interface SeenProcess extends ProcessInfo {
  /** Takes no more work. */
  draining: boolean;
  /** Since its last heartbeat, ms. */
  ageMs: number;
}

export interface ProcessRegistry {
  /** Writes the first heartbeat, then one every 2 s until `close`. @throws AppError store_unavailable after 15 s of trying */
  register(info: ProcessInfo): Promise<void>;
  /** From the next heartbeat on each tells what the details are then. */
  describe(id: string, details: () => ProcessInfo['details']): void;
  /** Processes seen within `withinMs`, those that drain too. */
  alive(kind: 'gateway' | 'worker', withinMs: number): Promise<SeenProcess[]>;
  /**
   * Since when (`performance.now()`) nobody can have given up what is registered here; undefined when somebody may do so
   * now. Rests on nothing but this process's own clock.
   */
  heldSince(): number | undefined;
  /**
   * Tells at once that no more work is taken. The registration then outlives `close` until it expires: jobs that were
   * on their way here are found by whoever reaps it.
   */
  leave(): Promise<void>;
  /** Removes the registration at once, as a clean stop does; after `leave` it only stops renewing it. */
  close(): Promise<void>;
}
