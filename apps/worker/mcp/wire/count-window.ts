// Counts within a time, from zero again after it.
export class CountWindow {
  #since = performance.now();
  #count = 0;

  constructor(private readonly ms: number) {}

  count(): number {
    const now = performance.now();
    if (now - this.#since > this.ms) {
      this.#since = now;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count;
  }
}
