// Whether a provider that keeps failing is asked at all. After so many failures in a row it is not, for a while; then
// one call may try, and what becomes of it decides. Pure but for the clock: it calls nobody.

export const circuitStates = ['closed', 'open', 'half_open'] as const;
export type CircuitState = (typeof circuitStates)[number];

export interface CircuitSettings {
  /** Failures in a row that open it. */
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
    /** ms; only differences count. */
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** A pass, or the seconds after which to ask again. */
  enter(): CircuitPass | number {
    const leftMs = this.openUntil - this.now();
    if (this.state === 'open' && leftMs > 0) return Math.ceil(leftMs / 1000);
    if (this.state === 'open') this.become('half_open');
    const tries = this.state === 'half_open';
    if (tries && this.trying) return 1;
    if (tries) this.trying = true;
    return new CircuitPass(this, tries);
  }

  /** For a pass only: its call is over. */
  ended(outcome: 'succeeded' | 'failed' | 'left', tried: boolean): void {
    if (tried) this.trying = false;
    if (outcome === 'succeeded') this.close();
    else if (outcome === 'failed') this.fail(tried);
  }

  /** Any success counts, also of a call that began before it opened: the provider is there again. */
  private close(): void {
    this.failuresInARow = 0;
    this.become('closed');
  }

  private fail(wasTry: boolean): void {
    this.failuresInARow += 1;
    // Calls that were under way when it opened say nothing new.
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

/** Leave to make one call. Its first end counts. */
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

  /** The call ended before the provider showed how it is. */
  left(): void {
    this.end('left');
  }

  private end(outcome: 'succeeded' | 'failed' | 'left'): void {
    if (this.over) return;
    this.over = true;
    this.circuit.ended(outcome, this.tries);
  }
}
