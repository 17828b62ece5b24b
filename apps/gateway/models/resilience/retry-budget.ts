// The retries that a provider gets: a share of its calls, and a small reserve that refills over time. A provider that fails
// every call therefore gets little more load than one that answers. Pure except for the clock.

export interface RetryBudgetSettings {
  /** Retries per call. */
  share: number;
  /** Retries available immediately, however few calls there are. */
  reserve: number;
}

/** Time in which an empty reserve refills. */
const refillMs = 10_000;

export class RetryBudget {
  private left: number;
  private at: number;

  constructor(
    private readonly settings: RetryBudgetSettings,
    /** In ms; only differences matter. */
    private readonly now: () => number = () => performance.now(),
  ) {
    this.left = settings.reserve;
    this.at = now();
  }

  /** Counts a call, whatever its result. */
  called(): void {
    this.add(this.settings.share);
  }

  /** Takes one retry if the budget has one. */
  take(): boolean {
    const now = this.now();
    this.add(((now - this.at) / refillMs) * this.settings.reserve);
    this.at = now;
    if (this.left < 1) return false;
    this.left -= 1;
    return true;
  }

  /** Unused retries accumulate up to the reserve, or up to one if there is no reserve. */
  private add(retries: number): void {
    this.left = Math.min(this.left + retries, Math.max(this.settings.reserve, 1));
  }
}
