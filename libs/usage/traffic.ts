// Counts the traffic of the last hours for the overview: turns and how long they took, tool calls, failures, cost. A gateway writes
// its own counts of an hour over what it wrote before, so that a repeated write changes nothing; one that dies loses some seconds.
import type { Database } from '#libs/postgres/open-database.js';
import type { Logger } from '#libs/logging/logger.js';
import { storedText } from '#libs/postgres/stored-text.js';
import { countLatency, percentileOf, sumLatencies } from './latency-steps.js';

export interface HourTraffic {
  /** When the hour began. */
  hour: Date;
  requests: number;
  calls: number;
  failures: number;
  costUsd: number;
  /** How long 95 of 100 turns took at most; undefined without turns. */
  p95Ms: number | undefined;
}

interface Counts {
  requests: number;
  calls: number;
  failures: number;
  nanoUsd: number;
  latencies: number[];
  /** Not written since the last change. */
  changed: boolean;
}

export interface TrafficParts {
  database: Pick<Database, 'query'>;
  gatewayId: string;
  logger: Logger;
  /** The clock of this machine, ms. */
  now?: () => number;
}

export const shownHours = 24;
const hourMs = 3_600_000;
const writeMs = 5_000;
/** Principals that are counted on their own in an hour; more are counted among everybody only. */
const maxPrincipals = 10_000;
const everybody = '';

const writeCounts = `/* traffic.write */
  insert into traffic_hours (principal, hour, gateway, requests, calls, failures, cost_nano_usd, latencies)
  select principal, to_timestamp(hour / 1000), $1, requests, calls, failures, cost_nano_usd, latencies
  from jsonb_to_recordset($2::jsonb) as counted (principal text, hour float8, requests int, calls int, failures int,
    cost_nano_usd bigint, latencies int[])
  on conflict (principal, hour, gateway) do update set requests = excluded.requests, calls = excluded.calls,
    failures = excluded.failures, cost_nano_usd = excluded.cost_nano_usd, latencies = excluded.latencies`;

const readCounts = `/* traffic.read */
  select hour, requests, calls, failures, cost_nano_usd::float8 as "nanoUsd", latencies from traffic_hours
  where principal = $1 and hour >= $2::timestamptz`;

interface StoredCounts extends Omit<Counts, 'changed'> {
  hour: Date;
}

export class Traffic {
  /** By the hour and the principal. */
  private readonly hours = new Map<number, Map<string, Counts>>();
  private readonly now: () => number;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> | undefined;
  private failing = false;

  constructor(private readonly parts: TrafficParts) {
    this.now = parts.now ?? Date.now;
  }

  turn(principal: string, tookMs: number): void {
    this.count(principal, (counts) => {
      counts.requests += 1;
      countLatency(counts.latencies, tookMs);
    });
  }

  call(principal: string, failed: boolean): void {
    this.count(principal, (counts) => {
      counts.calls += 1;
      if (failed) counts.failures += 1;
    });
  }

  cost(principal: string, nanoUsd: number): void {
    if (nanoUsd > 0) this.count(principal, (counts) => (counts.nanoUsd += nanoUsd));
  }

  /** The last 24 hours, the present one last; of everybody without a principal. @throws AppError store_unavailable */
  async read(principal?: string): Promise<HourTraffic[]> {
    await this.flush();
    const present = this.presentHour();
    const first = present - (shownHours - 1) * hourMs;
    const whose = principal === undefined ? everybody : storedText(principal);
    const rows = await this.parts.database.query<StoredCounts>(readCounts, [whose, new Date(first)]);
    return Array.from({ length: shownHours }, (_, index) => {
      const hour = new Date(first + index * hourMs);
      return sumOf(
        hour,
        rows.filter((row) => +row.hour === +hour),
      );
    });
  }

  /** Writes what has changed. Never rejects. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    while (this.writing !== undefined) await this.writing;
    this.writing = this.write().finally(() => (this.writing = undefined));
    await this.writing;
  }

  close(): Promise<void> {
    return this.flush();
  }

  private presentHour(): number {
    return Math.floor(this.now() / hourMs) * hourMs;
  }

  private count(principal: string, add: (counts: Counts) => void): void {
    const hour = this.presentHour();
    let counted = this.hours.get(hour);
    if (counted === undefined) this.hours.set(hour, (counted = new Map()));
    for (const whose of [everybody, principal]) {
      let counts = counted.get(whose);
      if (counts === undefined && counted.size <= maxPrincipals) {
        counts = { requests: 0, calls: 0, failures: 0, nanoUsd: 0, latencies: [], changed: false };
        counted.set(whose, counts);
      }
      if (counts === undefined) continue;
      add(counts);
      counts.changed = true;
    }
    this.timer ??= setTimeout(() => void this.flush(), writeMs).unref();
  }

  private async write(): Promise<void> {
    const changed = [...this.hours].flatMap(([hour, counted]) =>
      [...counted].flatMap(([principal, counts]) => (counts.changed ? [{ hour, principal, counts }] : [])),
    );
    this.forgetEnded();
    if (changed.length === 0) return;
    for (const { counts } of changed) counts.changed = false;
    const rows = changed.map(({ hour, principal, counts: { requests, calls, failures, nanoUsd, latencies } }) => {
      return { principal: storedText(principal), hour, requests, calls, failures, cost_nano_usd: nanoUsd, latencies };
    });
    try {
      await this.parts.database.query(writeCounts, [this.parts.gatewayId, JSON.stringify(rows)]);
      this.failing = false;
    } catch (error) {
      for (const { counts } of changed) counts.changed = true;
      if (!this.failing) this.parts.logger.warn({ error }, 'the traffic of the last hours could not be written yet');
      this.failing = true;
    }
  }

  /** The hour before the present one stays for what is written late. */
  private forgetEnded(): void {
    const before = this.presentHour() - hourMs;
    for (const hour of this.hours.keys()) if (hour < before) this.hours.delete(hour);
  }
}

function sumOf(hour: Date, rows: readonly StoredCounts[]): HourTraffic {
  const sum = (member: 'requests' | 'calls' | 'failures' | 'nanoUsd') =>
    rows.reduce((total, row) => total + row[member], 0);
  return {
    hour,
    requests: sum('requests'),
    calls: sum('calls'),
    failures: sum('failures'),
    costUsd: sum('nanoUsd') / 1e9,
    p95Ms: percentileOf(sumLatencies(rows.map(({ latencies }) => latencies)), 0.95),
  };
}
