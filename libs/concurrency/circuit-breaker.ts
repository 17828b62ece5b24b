// Stops calls to what keeps failing: a model provider, a tool server. After a number of failures in a row the circuit opens for
// a while; then one trial call decides whether it closes. Retries are bounded, too. Waits for nothing, calls nothing.

export const circuitStates = ['closed', 'open', 'half_open'] as const;
export type CircuitState = (typeof circuitStates)[number];

export interface CircuitSettings {
  /** Failures in a row after which the circuit opens. */
  failures: number;
  coolDownMs: number;
}

/** Retries per call, beside the reserve. */
const retryShare = 0.2;
const retryReserve = 10;
/** Time in which an empty reserve refills. */
const refillMs = 10_000;

export class CircuitBreaker {
  private state: CircuitState = 'closed';
  private failuresInARow = 0;
  /** The next trial may begin, by performance.now(). */
  private trialAt = 0;
  private retriesLeft = retryReserve;
  private refilledAt = performance.now();

  constructor(
    private readonly settings: CircuitSettings,
    private readonly onChange: (state: CircuitState) => void = () => undefined,
  ) {}

  get isOpen(): boolean {
    return this.state === 'open';
  }

  /** Seconds until the next attempt is allowed. 0: the call may begin, and reports its outcome, once. */
  enter(): number {
    if (this.state !== 'closed') {
      const now = performance.now();
      if (now < this.trialAt) return this.isOpen ? Math.ceil((this.trialAt - now) / 1000) : 1;
      // No other call tries during the trial. A trial that never ends does not keep the circuit half open for ever.
      this.trialAt = now + this.settings.coolDownMs;
      this.become('half_open');
    }
    this.addRetries(retryShare);
    return 0;
  }

  /**
   * Takes a retry for a call under way. Retries are limited to a share of all calls and a small reserve, so that a provider that
   * fails every call gets hardly more load than one that answers.
   */
  mayRetry(): boolean {
    const now = performance.now();
    this.addRetries(((now - this.refilledAt) / refillMs) * retryReserve);
    this.refilledAt = now;
    if (this.isOpen || this.retriesLeft < 1) return false;
    this.retriesLeft -= 1;
    return true;
  }

  /** Any success closes the circuit, even of a call that began before the circuit opened. */
  succeeded(): void {
    this.failuresInARow = 0;
    this.become('closed');
  }

  failed(): void {
    this.failuresInARow += 1;
    // Failures of calls that were under way when the circuit opened do not keep it open longer.
    if (this.isOpen || (this.state === 'closed' && this.failuresInARow < this.settings.failures)) return;
    this.trialAt = performance.now() + this.settings.coolDownMs;
    this.become('open');
  }

  /** The call ended without success or failure. If that call was the trial, another trial may begin. */
  left(): void {
    if (this.state === 'half_open') this.trialAt = 0;
  }

  private addRetries(count: number): void {
    this.retriesLeft = Math.min(this.retriesLeft + count, retryReserve);
  }

  private become(state: CircuitState): void {
    if (this.state === state) return;
    this.state = state;
    this.onChange(state);
  }
}

/** A circuit for each key that has failed. */
export class CircuitBreakers {
  private readonly circuits = new Map<string, CircuitBreaker>();

  /** Above `maxKeys`, the key that failed least recently is forgotten. */
  constructor(
    private readonly settings: CircuitSettings,
    private readonly maxKeys: number,
  ) {}

  mayTry(key: string): boolean {
    return (this.circuits.get(key)?.enter() ?? 0) === 0;
  }

  /** Counts a failure. Returns whether the circuit is open now. */
  failed(key: string): boolean {
    const circuit = this.circuits.get(key) ?? new CircuitBreaker(this.settings);
    this.circuits.delete(key);
    if (this.circuits.size >= this.maxKeys) this.circuits.delete(this.circuits.keys().next().value!);
    this.circuits.set(key, circuit);
    circuit.failed();
    return circuit.isOpen;
  }

  /** Forgets the key after a success, or when the key stands for something else. */
  forget(key: string): void {
    this.circuits.delete(key);
  }
}
