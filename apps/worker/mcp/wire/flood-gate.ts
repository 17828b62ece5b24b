// Limits unsolicited messages from a server: a flood of them ends the connection, since parsing would block the worker's
// only thread.

export class CountWindow {
  private since = performance.now();
  private counted = 0;

  constructor(private readonly ms: number) {}

  count(by = 1): number {
    const now = performance.now();
    if (now - this.since > this.ms) {
      this.since = now;
      this.counted = 0;
    }
    this.counted += by;
    return this.counted;
  }
}

const windowMs = 10_000;
const maxMessages = 20_000;
const maxBytes = 64 * 1024 * 1024;

export class FloodGate {
  private readonly messages = new CountWindow(windowMs);
  private readonly bytes = new CountWindow(windowMs);

  /** False if the limit is exceeded. */
  take(bytes: number): boolean {
    const messages = this.messages.count();
    return this.bytes.count(bytes) <= maxBytes && messages <= maxMessages;
  }
}
