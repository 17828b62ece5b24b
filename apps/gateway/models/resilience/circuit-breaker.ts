// Stops calls to a provider that keeps failing. After a number of failures in a row it opens for a while; then one trial
// call decides whether it closes. Pure except for the clock.

export const circuitStates = ['closed', 'open', 'half_open'] as const;
export type CircuitState = (typeof circuitStates)[number];

export interface CircuitSettings {
  /** Failures in a row after which it opens. */
  failures: number;
  coolDownMs: number;
}

export class CircuitBreaker {
  private state: CircuitState = 'closed';
  private failuresInARow = 0;
  private openUntil = 0;
  private trying = false;

  constructor(
    private readonly settings: CircuitSettings,
    private readonly onChange: (state: CircuitState) => void,
    /** In ms; only differences matter. */
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** A pass, or the seconds until the next attempt is allowed. */
  enter(): CircuitPass | number {
    const leftMs = this.openUntil - this.now();
    if (this.state === 'open' && leftMs > 0) return Math.ceil(leftMs / 1000);
    if (this.state === 'open') this.become('half_open');
    const tries = this.state === 'half_open';
    if (tries && this.trying) return 1;
    if (tries) this.trying = true;
    return new CircuitPass(this, tries);
  }

  /** Only a pass calls this, at the end of its call. */
  ended(outcome: 'succeeded' | 'failed' | 'left', tried: boolean): void {
    if (tried) this.trying = false;
    if (outcome === 'succeeded') this.close();
    else if (outcome === 'failed') this.fail(tried);
  }

  /** Any success closes it, even of a call that started before it opened, because the provider responds again. */
  private close(): void {
    this.failuresInARow = 0;
    this.become('closed');
  }

  private fail(wasTry: boolean): void {
    this.failuresInARow += 1;
    // Results of calls that were under way when it opened are ignored.
    const decides = this.state === 'half_open' ? wasTry : this.state === 'closed';
    if (!decides || (this.state === 'closed' && this.failuresInARow < this.settings.failures)) return;
    this.openUntil = this.now() + this.settings.coolDownMs;
    this.become('open');
  }

  private become(state: CircuitState): void {
    if (this.state === state) return;
    this.state = state;
    this.onChange(state);
  }
}

/** Permission for one call. Only its first outcome counts. */
export class CircuitPass {
  private over = false;

  constructor(
    private readonly circuit: CircuitBreaker,
    private readonly tries: boolean,
  ) {}

  succeeded(): void {
    this.end('succeeded');
  }

  failed(): void {
    this.end('failed');
  }

  /** The call ended before it showed whether the provider works. */
  left(): void {
    this.end('left');
  }

  private end(outcome: 'succeeded' | 'failed' | 'left'): void {
    if (this.over) return;
    this.over = true;
    this.circuit.ended(outcome, this.tries);
  }
}
