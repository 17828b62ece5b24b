// What has failed five times in a row is left alone: after that, one try every thirty seconds. Servers that could not be
// connected go by their name, instances that ended before they answered anything by their key.

interface Circuit {
  failures: number;
  /** performance.now() before which nothing is tried. */
  closedUntil: number;
}

const failuresToOpen = 5;
const halfOpenMs = 30_000;
/** Whoever failed least recently is forgotten: sessions come and go. */
const maxCircuits = 1_000;

export class ServerCircuits {
  private readonly circuits = new Map<string, Circuit>();

  /** Whether the server may be connected now; where it is left alone, this is the one try of the next thirty seconds. */
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

  /** It has been connected, has answered, or is configured otherwise. */
  forget(name: string): void {
    this.circuits.delete(name);
  }
}
