// After five failures in a row a key is blocked, except for one attempt every thirty seconds. Failures to connect count
// by the server's name, instances that ended before their first answer by the instance's key.

interface Circuit {
  failures: number;
  /** performance.now() before which there is no attempt. */
  closedUntil: number;
}

const failuresToOpen = 5;
const halfOpenMs = 30_000;
/** The key that failed least recently is forgotten: sessions come and go. */
const maxCircuits = 1_000;

export class ServerCircuits {
  private readonly circuits = new Map<string, Circuit>();

  /** Whether the server may be connected now; if it is blocked, this is the one attempt of the next thirty seconds. */
  mayTry(name: string): boolean {
    const circuit = this.circuits.get(name);
    if (circuit === undefined || circuit.failures < failuresToOpen) return true;
    const now = performance.now();
    if (now < circuit.closedUntil) return false;
    circuit.closedUntil = now + halfOpenMs;
    return true;
  }

  failed(name: string): { failures: number; open: boolean } {
    const failures = (this.circuits.get(name)?.failures ?? 0) + 1;
    this.circuits.delete(name);
    this.circuits.set(name, { failures, closedUntil: performance.now() + halfOpenMs });
    const [oldest] = this.circuits.keys();
    if (this.circuits.size > maxCircuits) this.circuits.delete(oldest!);
    return { failures, open: failures >= failuresToOpen };
  }

  /** It has connected, answered, or its configuration has changed. */
  forget(name: string): void {
    this.circuits.delete(name);
  }
}
