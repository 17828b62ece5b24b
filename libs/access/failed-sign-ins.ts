// How often an address showed a wrong key in the present minute, on this gateway: above the bound it is refused unasked.
// Remembers a bounded number of addresses; the one that was first is forgotten first.

const windowMs = 60_000;
const maxAddresses = 10_000;

export class FailedSignIns {
  private readonly addresses = new Map<string, { since: number; failures: number }>();

  constructor(
    private readonly perMinute: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Seconds until the address may try again; undefined while it may. */
  refusedFor(address: string): number | undefined {
    const known = this.addresses.get(address);
    if (known === undefined || known.failures < this.perMinute) return undefined;
    const left = known.since + windowMs - this.now();
    return left > 0 ? Math.ceil(left / 1_000) : undefined;
  }

  add(address: string): void {
    const now = this.now();
    const known = this.addresses.get(address);
    if (known !== undefined && now - known.since < windowMs) {
      known.failures++;
      return;
    }
    this.addresses.delete(address);
    if (this.addresses.size >= maxAddresses) this.addresses.delete(this.addresses.keys().next().value!);
    this.addresses.set(address, { since: now, failures: 1 });
  }
}
