// A circuit breaker: after five failures in a row a key is blocked, except for one attempt every thirty seconds. The pool
// counts failures to connect by server name, and instances that end before their first answer by instance key.

interface Circuit {
  failures: number;
  /** No attempt before this time, by performance.now(). */
  closedUntil: number;
}

const failuresToOpen = 5;
const halfOpenMs = 30_000;
/** Above this, the key that failed least recently is removed. */
const maxCircuits = 1_000;

export class ServerCircuits {
  private readonly circuits = new Map<string, Circuit>();

  /** Whether an attempt is allowed now. For a blocked key, this counts as the attempt of the next thirty seconds. */
  mayTry(name: string): boolean {
    const circuit = this.circuits.get(name);
    if (circuit === undefined || circuit.failures < failuresToOpen) return true;
    const now = performance.now();
    if (now < circuit.closedUntil) return false;
    circuit.closedUntil = now + halfOpenMs;
    return true;
  }

  /** Whether the key is blocked now. */
  failed(name: string): boolean {
    const failures = (this.circuits.get(name)?.failures ?? 0) + 1;
    this.circuits.delete(name);
    this.circuits.set(name, { failures, closedUntil: performance.now() + halfOpenMs });
    const [oldest] = this.circuits.keys();
    if (this.circuits.size > maxCircuits) this.circuits.delete(oldest!);
    return failures >= failuresToOpen;
  }

  /** Call it after a success, or when the configuration has changed. */
  forget(name: string): void {
    this.circuits.delete(name);
  }
}
