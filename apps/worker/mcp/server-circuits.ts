// Servers that could not be connected five times in a row are left alone: after that, one try every thirty seconds.

interface Circuit {
  failures: number;
  /** performance.now() before which nothing is tried. */
  closedUntil: number;
}

const failuresToOpen = 5;
const halfOpenMs = 30_000;

export class ServerCircuits {
  readonly #circuits = new Map<string, Circuit>();

  /** Whether the server may be connected now; where it is left alone, this is the one try of the next thirty seconds. */
  mayTry(name: string): boolean {
    const circuit = this.#circuits.get(name);
    if (circuit === undefined || circuit.failures < failuresToOpen) return true;
    const now = performance.now();
    if (now < circuit.closedUntil) return false;
    circuit.closedUntil = now + halfOpenMs;
    return true;
  }

  failed(name: string): { failures: number; open: boolean } {
    const failures = (this.#circuits.get(name)?.failures ?? 0) + 1;
    this.#circuits.set(name, { failures, closedUntil: performance.now() + halfOpenMs });
    return { failures, open: failures >= failuresToOpen };
  }

  /** It has been connected, or is configured otherwise. */
  forget(name: string): void {
    this.#circuits.delete(name);
  }
}
