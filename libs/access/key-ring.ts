// The API keys that a gateway has in memory, so that a known key costs a hash and a map lookup. The database has a revision
// that grows with every change; it is looked at when a change is announced, and twice a second, since messages can be lost. When it
// has grown, the keys are read again: revoked keys end and the first key takes effect at once, or within a second.
import type { Channels } from '#libs/backing/channels.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { channelNames } from '#libs/schemas/tool-job.js';
import { hashOfKey, hasKeyForm } from './api-key.js';
import type { SignIn } from './access.js';
import { announceKeys } from './key-announcements.js';
import type { KeyStore, StoredKey } from './key-store.js';

const noteUsesMs = 60_000;
const trustMs = 60_000;
const maxKeys = 10_000;
const maxLookups = 256;

interface Remembered {
  stored: StoredKey;
  signIn: SignIn;
  /** Epoch ms; 0 when the last use has been written. */
  usedAt: number;
}

export interface KeyRingParts {
  store: Pick<KeyStore, 'findByHash' | 'inForce' | 'revision' | 'noteUse'>;
  /** auto: keys are required once any key has been created. */
  mode: 'auto' | 'keys' | 'off';
  channels: Pick<Channels, 'publish' | 'subscribe'>;
  /** Default: half a second. */
  pollMs?: number;
  logger: Logger;
}

export class KeyRing {
  private readonly keys = new Map<string, Remembered>();
  private readonly lookups = new Map<string, Promise<SignIn>>();
  private revision = '0';
  /** Counts reloads: a lookup that started under an older generation may be outdated. */
  private generation = 0;
  private confirmedAt = -Infinity;
  private refreshing: Promise<void> | undefined;
  private timers: NodeJS.Timeout[] = [];
  private unsubscribe: (() => Promise<void>) | undefined;

  constructor(private readonly parts: KeyRingParts) {}

  /** @throws AppError store_unavailable */
  async start(): Promise<void> {
    const { mode, channels, pollMs = 500 } = this.parts;
    if (mode === 'off') return;
    const poll = () => void this.refresh().catch(() => undefined);
    // What changes before it is read is read; what changes afterwards is heard of. A read under way may have missed it.
    this.unsubscribe = await channels.subscribe(channelNames.keys, () => {
      if (this.refreshing === undefined) poll();
      else this.refreshing.then(poll, poll);
    });
    await this.refresh();
    this.timers = [setInterval(poll, pollMs), setInterval(() => void this.noteUses(), noteUsesMs)];
  }

  get required(): boolean {
    const { mode } = this.parts;
    return mode === 'keys' || (mode === 'auto' && this.revision !== '0');
  }

  /** Synchronous for a remembered key. @throws AppError store_unavailable */
  signIn(key: string): SignIn | Promise<SignIn> {
    if (!hasKeyForm(key)) return { reason: 'unknown' };
    const hash = hashOfKey(key);
    const found = this.keys.get(hash);
    if (found === undefined) return this.lookUp(hash);
    if (performance.now() - this.confirmedAt > trustMs) throw away();
    return this.use(found);
  }

  /** For a call that was made with the key. @throws AppError store_unavailable */
  async inForce(id: string): Promise<SignIn> {
    for (const remembered of this.keys.values()) {
      if (remembered.stored.id !== id) continue;
      if (performance.now() - this.confirmedAt > trustMs) throw away();
      return this.use(remembered);
    }
    const key = await this.parts.store.inForce(id);
    return key === undefined ? { reason: 'revoked' } : signInOf(key);
  }

  isRemembered(key: string): boolean {
    return this.keys.has(hashOfKey(key));
  }

  /** Reads changes from the database. Concurrent callers share one read. @throws AppError store_unavailable */
  refresh(): Promise<void> {
    return (this.refreshing ??= this.readChanges().finally(() => (this.refreshing = undefined)));
  }

  /** Keys were changed here: this gateway and the others know it, as far as they can be reached. @throws AppError store_unavailable */
  async changed(): Promise<void> {
    await Promise.all([this.refresh(), announceKeys(this.parts.channels, this.parts.logger)]);
  }

  async close(): Promise<void> {
    await this.unsubscribe?.().catch(() => undefined);
    for (const timer of this.timers) clearInterval(timer);
    await this.refreshing?.catch(() => undefined);
    await this.noteUses();
  }

  private async readChanges(): Promise<void> {
    const asked = performance.now();
    const revision = await this.parts.store.revision();
    if (revision !== this.revision) {
      this.generation++;
      const hashes = [...this.keys.keys()];
      const found = hashes.length === 0 ? new Map<string, StoredKey>() : await this.parts.store.findByHash(hashes);
      for (const hash of hashes) {
        const stored = found.get(hash);
        const known = this.keys.get(hash);
        if (stored === undefined) this.keys.delete(hash);
        else if (known !== undefined) this.keys.set(hash, { stored, signIn: signInOf(stored), usedAt: known.usedAt });
      }
      this.revision = revision;
    }
    this.confirmedAt = asked;
  }

  private lookUp(hash: string): Promise<SignIn> {
    const under = this.lookups.get(hash);
    if (under !== undefined) return under;
    if (this.lookups.size >= maxLookups) throw away();
    const lookup = this.find(hash).finally(() => this.lookups.delete(hash));
    this.lookups.set(hash, lookup);
    return lookup;
  }

  private async find(hash: string): Promise<SignIn> {
    for (;;) {
      const { generation } = this;
      const stored = (await this.parts.store.findByHash([hash])).get(hash);
      if (generation !== this.generation) continue;
      if (stored === undefined) return { reason: 'unknown' };
      const remembered = { stored, signIn: signInOf(stored), usedAt: 0 };
      if (this.keys.size >= maxKeys) this.keys.delete(this.keys.keys().next().value!);
      this.keys.set(hash, remembered);
      return this.use(remembered);
    }
  }

  private use(remembered: Remembered): SignIn {
    const { stored } = remembered;
    const now = Date.now();
    if (stored.revokedAt !== null) return { reason: 'revoked', key: stored };
    if (stored.expiresAt !== null && stored.expiresAt.getTime() <= now) return { reason: 'expired', key: stored };
    remembered.usedAt = now;
    return remembered.signIn;
  }

  /** Writes when keys were last used here. Never rejects. */
  async noteUses(): Promise<void> {
    const used = [...this.keys.values()].filter(({ usedAt }) => usedAt !== 0);
    if (used.length === 0) return;
    const uses = used.map(({ stored, usedAt }) => ({ id: stored.id, at: new Date(usedAt) }));
    for (const each of used) each.usedAt = 0;
    try {
      await this.parts.store.noteUse(uses);
    } catch (error) {
      this.parts.logger.warn({ error }, 'the last use of keys could not be written');
    }
  }
}

const signInOf = (stored: StoredKey): SignIn => ({
  caller: { principal: stored.owner, keyId: stored.id, access: stored, parentCall: undefined },
});

const away = () => new AppError('store_unavailable', 'Keys cannot be checked at the moment', { retryAfterSeconds: 1 });
