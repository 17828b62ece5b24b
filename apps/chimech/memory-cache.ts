// The cache of a Chimech process of its own: bounded in entries and characters, the oldest go first.
import type { Cache } from '#libs/backing/cache.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';

const maxEntries = 2_000;
const maxCharacters = 4 * 1024 * 1024;

export class MemoryCache implements Cache {
  readonly maxValueBytes = 256 * 1024;
  private readonly entries = new Map<string, { value: string; until: number }>();
  private characters = 0;

  constructor(private readonly now: () => number = steadyNow) {}

  async get(key: string): Promise<string | undefined> {
    const entry = this.entries.get(key);
    if (entry !== undefined && entry.until > this.now()) return entry.value;
    this.remove(key);
    return undefined;
  }

  async set(key: string, value: string, ttlMs: number): Promise<void> {
    this.remove(key);
    if (value.length > this.maxValueBytes) return;
    this.entries.set(key, { value, until: this.now() + ttlMs });
    this.characters += value.length;
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= maxEntries && this.characters <= maxCharacters) break;
      this.remove(oldest);
    }
  }

  async delete(key: string): Promise<void> {
    this.remove(key);
  }

  async close(): Promise<void> {
    this.entries.clear();
    this.characters = 0;
  }

  private remove(key: string): void {
    this.characters -= this.entries.get(key)?.value.length ?? 0;
    this.entries.delete(key);
  }
}
