// How many retries a provider gets beside its calls: a share of them, and a small reserve that time refills. A provider
// that fails every call so gets hardly more load than one that answers. Pure but for the clock: it calls nobody.

export interface RetryBudgetSettings {
  /** Retries a call. */
  share: number;
  /** Retries at once, however few calls there are. */
  reserve: number;
}

/** An empty reserve is full again after so long. */
const refillMs = 10_000;

export class RetryBudget {
  private left: number;
  private at: number;

  constructor(
    private readonly settings: RetryBudgetSettings,
    /** ms; only differences count. */
    private readonly now: () => number = () => performance.now(),
  ) {
    this.left = settings.reserve;
    this.at = now();
  }

  /** A call is made, whatever becomes of it. */
  called(): void {
    this.add(this.settings.share);
  }

  /** Whether one retry may be made; it is taken. */
  take(): boolean {
    const now = this.now();
    this.add(((now - this.at) / refillMs) * this.settings.reserve);
    this.at = now;
    if (this.left < 1) return false;
    this.left -= 1;
    return true;
  }

  /** What is not used is not saved up beyond the reserve, or one retry where there is none. */
  private add(retries: number): void {
    this.left = Math.min(this.left + retries, Math.max(this.settings.reserve, 1));
  }
}
