// The sessions that this process wrote a moment ago, so that the next call of a turn need not write its session again. Expired
// entries are dropped with the next write, because most sessions are named only once.
import type { StoredSession } from './session-store.js';

/** Upper bound of entries; beyond it sessions are written again sooner. */
const maxKnown = 10_000;

export class KnownSessions {
  /** Sessions in the order of their writes. */
  private readonly known = new Map<string, { session: StoredSession; writtenAt: number }>();

  constructor(private readonly freshMs: number) {}

  get size(): number {
    return this.known.size;
  }

  /** Undefined if the session is not known, or was written too long ago. */
  get(key: string): StoredSession | undefined {
    const known = this.known.get(key);
    return known !== undefined && this.isFresh(known) ? known.session : undefined;
  }

  set(key: string, session: StoredSession): void {
    this.known.delete(key);
    for (const [oldest, known] of this.known) {
      if (this.isFresh(known) && this.known.size < maxKnown) break;
      this.known.delete(oldest);
    }
    this.known.set(key, { session, writtenAt: performance.now() });
  }

  delete(key: string): void {
    this.known.delete(key);
  }

  private isFresh({ writtenAt }: { writtenAt: number }): boolean {
    return performance.now() - writtenAt < this.freshMs;
  }
}
