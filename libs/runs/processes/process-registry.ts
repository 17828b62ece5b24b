// Heartbeats of gateways and workers, and what happens to the work of dead ones.
import type { JsonObject } from '#libs/schemas/json.js';

/** Any process may give up a process without a heartbeat for this long. */
export const processExpiryMs = 6_000;

export interface ProcessInfo {
  id: string;
  kind: 'gateway' | 'worker';
  /** Shown in health: isolation, and the tool servers of a worker. */
  details: JsonObject;
}

/** The state of a tool server in one worker: an element of `details.servers`. */
export interface ServerReport {
  name: string;
  state: 'starting' | 'ready' | 'needs_sign_in' | 'unavailable' | 'refused';
  /** Isolation of the server's tools; absent if the server was refused. */
  isolation?: string;
  /** For the operator: files and directories that a command may use beside its program and its workspace. */
  paths?: { read: string[]; write: string[] };
  /** For the operator: what its isolation keeps a command from, and what it may reach. */
  forbids?: string[];
  network?: string;
  /** The version of MCP that it speaks. */
  protocol?: string;
  /** How many programs or connections it has, by their state. */
  instances?: Record<string, number>;
  /** How many of its instances ended by themselves since the worker started. */
  restarts?: number;
  /** For the operator: the last lines that it wrote to stderr. */
  stderr?: string[];
  /** For the operator: why the server is not ready. */
  reason?: string;
  /** For the operator: listed tools that are not offered, each with its reason. */
  left_out?: string[];
}

export interface SeenProcess extends ProcessInfo {
  /** The process accepts no more work. */
  draining: boolean;
  /** Time since the last heartbeat, ms. */
  ageMs: number;
}

/** A process as people see it: also one that stopped without saying so, for some minutes. */
export interface ShownProcess extends SeenProcess {
  startedAt: Date;
  isGone: boolean;
}

export interface ProcessRegistry {
  /** Writes the first heartbeat, then every 2 s until `close`. @throws AppError store_unavailable after 15 s */
  register(info: ProcessInfo): Promise<void>;
  /** Sets the details that heartbeats send from the next one on. */
  describe(id: string, details: () => ProcessInfo['details']): void;
  /** Processes seen within `withinMs`, draining ones included. */
  alive(kind: 'gateway' | 'worker', withinMs: number): Promise<SeenProcess[]>;
  /** The same, and the ones that are gone. */
  shown(kind: 'gateway' | 'worker', withinMs: number): Promise<ShownProcess[]>;
  /** How many other processes of the same kind lived at the last heartbeat of this one. */
  peers(id: string): number;
  /**
   * Since when (`performance.now()`) no other process can have given up this process; undefined if another may do so now. Depends
   * only on this process's own clock.
   */
  heldSince(): number | undefined;
  /**
   * Announces at once that no more work is accepted. The registration then outlives `close` until it expires: the
   * process that reaps it finds jobs that were on their way here.
   */
  leave(): Promise<void>;
  /** Removes the registration at once, as a clean stop does; after `leave` it only stops renewing it. */
  close(): Promise<void>;
}
