// Records how much each workspace uses, so that a write over the limit is refused in advance. A scan counts, the writes of
// this process update the count, and the next scan finds changes by others. Refuses, never removes.
import { AppError } from '#libs/schemas/errors.js';
import { KeyedLock } from './keyed-lock.js';

export interface WorkspaceLimits {
  maxBytes: number;
  /** Files and directories together. */
  maxFiles: number;
  maxDepth: number;
}

export interface DirectoryUsage {
  bytes: number;
  /** Everything except directories. */
  files: number;
  directories: number;
}

export interface ScannedUsage extends DirectoryUsage {
  /** Whether directories are deeper than a scan goes, so that nothing may grow. */
  tooDeep: boolean;
}

interface Account extends ScannedUsage {
  scannedAt: number;
  scanMs: number;
  reservedBytes: number;
  reservedEntries: number;
}

export type Scan = () => Promise<ScannedUsage>;

const maxAccounts = 10_000;
const minAgeMs = 2_000;

export class UsageLedger {
  private readonly accounts = new Map<string, Account>();
  private readonly lock = new KeyedLock();

  constructor(readonly limits: WorkspaceLimits) {}

  /** Runs `body` while nothing else in this process changes names in that workspace. */
  exclusively<T>(key: string, signal: AbortSignal | undefined, body: () => Promise<T>): Promise<T> {
    return this.lock.run(key, signal, body);
  }

  /** Scans if there is no recent count; `force` always scans. Call it outside `exclusively`. */
  async refresh(
    key: string,
    scan: Scan,
    options: { force?: boolean; signal?: AbortSignal | undefined } = {},
  ): Promise<DirectoryUsage> {
    return this.lock.run(key, options.signal, async () => {
      const known = this.accounts.get(key);
      if (known !== undefined && options.force !== true && !stale(known)) return known;
      const startedAt = performance.now();
      const scanned = await scan();
      const account = known ?? { ...scanned, scannedAt: 0, scanMs: 0, reservedBytes: 0, reservedEntries: 0 };
      Object.assign(account, scanned, { scannedAt: performance.now(), scanMs: performance.now() - startedAt });
      this.remember(key, account);
      return account;
    });
  }

  /** Creates an empty reservation. Call `refresh` first. */
  reserve(key: string, credit: { bytes: number; entries: number } = { bytes: 0, entries: 0 }): Reservation {
    const account = this.accounts.get(key);
    if (account === undefined) throw new Error('A workspace is counted before it is written to');
    return new Reservation(account, this.limits, credit);
  }

  /** Whether an old count is close to a limit, since other processes may have removed files. */
  nearlyFull(key: string, bytes: number): boolean {
    const account = this.accounts.get(key);
    if (account === undefined || performance.now() - account.scannedAt < 100) return false;
    const { maxBytes, maxFiles } = this.limits;
    return (
      account.tooDeep ||
      account.bytes + bytes > maxBytes * 0.75 ||
      account.files + account.directories > maxFiles * 0.75
    );
  }

  adjust(key: string, by: Partial<DirectoryUsage>): void {
    const account = this.accounts.get(key);
    if (account !== undefined) adjust(account, by);
  }

  expire(key: string): void {
    const account = this.accounts.get(key);
    if (account !== undefined) account.scannedAt = Number.NEGATIVE_INFINITY;
  }

  private remember(key: string, account: Account): void {
    this.accounts.delete(key);
    this.accounts.set(key, account);
    if (this.accounts.size <= maxAccounts) return;
    for (const [oldest, { reservedBytes, reservedEntries }] of this.accounts) {
      if (reservedBytes === 0 && reservedEntries === 0 && oldest !== key) {
        this.accounts.delete(oldest);
        return;
      }
    }
  }
}

/** Scans take at most a fiftieth of the time, however large the workspace. */
const stale = (account: Account) => performance.now() - account.scannedAt > Math.max(minAgeMs, account.scanMs * 50);

function adjust(account: Account, by: Partial<DirectoryUsage>): void {
  account.bytes = Math.max(0, account.bytes + (by.bytes ?? 0));
  account.files = Math.max(0, account.files + (by.files ?? 0));
  account.directories = Math.max(0, account.directories + (by.directories ?? 0));
}

/** Bytes and entries reserved for one write until it is committed or released. */
export class Reservation {
  private bytes = 0;
  private entries = 0;

  constructor(
    private readonly account: Account,
    private readonly limits: WorkspaceLimits,
    /** The usage that the write frees by replacing a file. */
    private credit: { bytes: number; entries: number },
  ) {}

  /** @throws AppError workspace_quota_exceeded, with nothing reserved. */
  grow(bytes: number, entries = 0): void {
    const { account, limits } = this;
    if (account.tooDeep) throw quota(`directories are nested more than ${limits.maxDepth} deep`);
    const nextBytes = account.bytes + account.reservedBytes + bytes - this.credit.bytes;
    if (bytes > 0 && nextBytes > limits.maxBytes) throw quota(`at most ${limits.maxBytes} bytes`);
    const held = account.files + account.directories + account.reservedEntries;
    if (entries > 0 && held + entries - this.credit.entries > limits.maxFiles) {
      throw quota(`at most ${limits.maxFiles} files and directories`);
    }
    this.bytes += bytes;
    this.entries += entries;
    account.reservedBytes += bytes;
    account.reservedEntries += entries;
  }

  /** The last check before committing: the replaced file may be another one by now. */
  settle(bytes: number, replacedBytes: number | undefined): void {
    this.release();
    this.credit = { bytes: replacedBytes ?? 0, entries: replacedBytes === undefined ? 0 : 1 };
    this.grow(bytes, 1);
  }

  /** Turns the reservation into use: `by` is the actual change. */
  keep(by: Partial<DirectoryUsage>): void {
    this.release();
    adjust(this.account, by);
  }

  release(): void {
    this.account.reservedBytes -= this.bytes;
    this.account.reservedEntries -= this.entries;
    this.bytes = 0;
    this.entries = 0;
  }
}

export const quota = (what: string) =>
  new AppError('workspace_quota_exceeded', `The workspace is full: ${what}. Delete files first.`);
