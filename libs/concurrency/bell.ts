// Wakes those who wait for news. Several rings before somebody waits count as one.

export class Bell {
  private rung = false;
  private readonly wake = new Set<() => void>();

  ring(): void {
    this.rung = true;
    for (const wake of this.wake) wake();
  }

  /** Resolves when the bell rings or has rung since the last call, when the time is up, or when the signal aborts. */
  async heard(timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (!this.rung && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const settle = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', settle);
          this.wake.delete(settle);
          resolve();
        };
        const timer = setTimeout(settle, timeoutMs);
        this.wake.add(settle);
        signal.addEventListener('abort', settle, { once: true });
      });
    }
    this.rung = false;
  }
}
