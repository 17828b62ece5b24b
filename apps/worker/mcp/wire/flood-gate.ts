// How much of what nobody asked for is taken from a server: more in ten seconds is a flood, and ends it. Parsing it would
// take the worker's only thread from everybody else.

const windowMs = 10_000;
const maxMessages = 20_000;
const maxBytes = 64 * 1024 * 1024;

export class FloodGate {
  #since = performance.now();
  #messages = 0;
  #bytes = 0;

  /** False when it is too much. */
  take(bytes: number): boolean {
    const now = performance.now();
    if (now - this.#since > windowMs) {
      this.#since = now;
      this.#messages = 0;
      this.#bytes = 0;
    }
    this.#messages += 1;
    this.#bytes += bytes;
    return this.#messages <= maxMessages && this.#bytes <= maxBytes;
  }
}
