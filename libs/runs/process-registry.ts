// Heartbeats of gateways and workers, and what happens to the work of those that stopped (reliability: leases).

export interface ProcessInfo {
  id: string;
  kind: 'gateway' | 'worker';
  /** Shown in health: version, servers, isolation. */
  details: Record<string, string | number | boolean>;
}

export interface ProcessRegistry {
  /** Writes the first heartbeat, then one every 2 s until `close`. */
  register(info: ProcessInfo): Promise<void>;
  /** Processes seen within `withinMs`. */
  alive(kind: 'gateway' | 'worker', withinMs: number): Promise<ProcessInfo[]>;
  /** Removes the registration at once, as a clean stop does. */
  close(): Promise<void>;
}
