// Measures what a scenario is put to in turn, window by window, so that what else the machine does meets all of them, and prints
// the medians and their ratios. CPU time of a window is the processes' own, from /proc.
import { loadavg } from 'node:os';
import type { Busy, LoadResult } from './keep-busy.js';
import { chunksAStream, type Scenario, warmingUp } from './scenarios.js';

/** What a scenario is put to. */
export interface Subject {
  name: string;
  /** CPU time so far, ms, of the processes that are compared. */
  cpuMs: Record<string, () => number>;
  /** The same of what they stand on. */
  storeCpuMs?: Record<string, () => number>;
  put(busy: Busy): Promise<LoadResult>;
  /** Absent: it outlives the scenario. */
  close?(): unknown;
}

export interface Windows {
  warmMs: number;
  count: number;
  lengthMs: number;
}

export interface Window {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  firstBytesMs: number;
  /** CPU time a unit, µs, of each process. */
  micros: Record<string, number>;
  /** Of those that are compared. */
  ownMicros: number;
}

/** The windows of each subject, round by round. @throws Error when a request failed */
export async function measureInTurn(scenario: Scenario, subjects: readonly Subject[], windows: Windows) {
  const measured: Window[][] = subjects.map(() => []);
  for (const subject of subjects) await subject.put(warmingUp(scenario, windows.warmMs));
  for (let round = 0; round < windows.count; round += 1) {
    for (const [at, subject] of subjects.entries())
      measured[at]!.push(await windowOf(scenario, subject, windows.lengthMs));
  }
  return measured;
}

async function windowOf({ inFlight, unit }: Scenario, subject: Subject, forMs: number): Promise<Window> {
  const clocks = Object.entries({ ...subject.cpuMs, ...subject.storeCpuMs });
  const before = clocks.map(([, spentMs]) => spentMs());
  const { requests, elapsedMs, failures, ...times } = await subject.put({ inFlight, forMs });
  if (failures.length > 0) throw new Error(`not everything put to ${subject.name} succeeded: ${failures.join('\n')}`);
  const units = requests * (unit === 'chunk' ? chunksAStream : 1);
  const micros = Object.fromEntries(
    clocks.map(([name, spentMs], at) => [name, ((spentMs() - before[at]!) * 1_000) / units]),
  );
  const ownMicros = Object.keys(subject.cpuMs).reduce((sum, name) => sum + micros[name]!, 0);
  return { ...times, perSecond: (units * 1_000) / elapsedMs, micros, ownMicros };
}

type Figure = (window: Window) => number;

export const medianOf = (windows: readonly Window[], figure: Figure): number =>
  spread(windows.map((window) => figure(window))).median;

/** How many times theirs ours is, of the windows of each round. */
export const ratioOf = (ours: readonly Window[], theirs: readonly Window[], figure: Figure) =>
  spread(ours.map((window, at) => figure(window) / figure(theirs[at]!)));

export const ratioText = ({ least, median, most }: ReturnType<typeof spread>): string =>
  `${median.toFixed(2)} × (${least.toFixed(2)} to ${most.toFixed(2)})`;

export const ownMicros: Figure = (window) => window.ownMicros;

function spread(values: readonly number[]) {
  const sorted = values.toSorted((one, next) => one - next);
  return { least: sorted[0]!, median: sorted[sorted.length >> 1]!, most: sorted.at(-1)! };
}

/** A line of a subject's medians; `more` is what only this subject has. */
export function printSubject(
  name: string,
  { unit }: Scenario,
  windows: readonly Window[],
  more: readonly (string | undefined)[],
): void {
  const median = (figure: Figure) => medianOf(windows, figure);
  const digits = unit === 'chunk' ? 1 : 0;
  printLine(name, [
    `${Math.round(median((window) => window.perSecond))} ${unit}s/s`,
    `p50 ${median((window) => window.p50Ms).toFixed(2)} ms`,
    `p99 ${median((window) => window.p99Ms).toFixed(2)} ms`,
    ...(unit === 'chunk' ? [`first bytes ${median((window) => window.firstBytesMs).toFixed(2)} ms`] : []),
    ...Object.keys(windows[0]!.micros).map(
      (process) => `${process} ${median((window) => window.micros[process]!).toFixed(digits)} µs`,
    ),
    ...more.filter((text) => text !== undefined),
  ]);
}

/** A line of how many times theirs ours takes: in the median, and from the least to the most. */
export function printRatio(name: string, ours: readonly Window[], theirs: readonly Window[]): void {
  const figures: Record<string, Figure> = {
    CPU: ownMicros,
    'per second': (window) => window.perSecond,
    p50: (window) => window.p50Ms,
    p99: (window) => window.p99Ms,
  };
  const members = Object.entries(figures).map(
    ([what, figure]) => `${what} ${ratioText(ratioOf(ours, theirs, figure))}`,
  );
  printLine(name, members);
}

export const printScenario = ({ name }: Scenario): void => console.log(`${name} (load ${loadavg()[0]!.toFixed(1)})`);

const printLine = (name: string, members: readonly string[]): void =>
  console.log(`  ${name.padEnd(28)} ${members.join(' | ')}`);
