// `npm run bench`: what a chat, a stream, a loop and a tool call cost on this machine, and whether every one of them is in
// the journal and the audit. Exit codes: 0 measured, 1 something failed or rows are missing; missed goals are only shown.
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { cpuMs, cpuMsOfTree, residentMegabytes } from './processes.js';
import type { LoadResult } from './load.js';
import { CHUNKS_A_STREAM, type Scenario, scenarios } from './scenarios.js';
import { startSystem, type System } from './system.js';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    /** Only scenarios whose name contains it. */
    only: { type: 'string', default: '' },
    /** A directory for CPU profiles of gateway and worker. */
    profile: { type: 'string' },
    /** Queue, channels, counters and cache in Redis; `redis-server` must be on the path. */
    redis: { type: 'boolean', default: false },
    /** Instead of the scenarios: so many loops and as many plain chats, with the memory in between. */
    turns: { type: 'string' },
    /** Instead of the scenarios: a loop and a tool call among few sessions, then among so many known ones. */
    sessions: { type: 'string' },
  },
});
const [warmMs, measureMs] = options.quick ? [500, 1_200] : [3_000, 6_000];

/** Requests put so far by kind, warm-up included: what the rows must come to. */
const put = { loops: 0, calls: 0 };

interface Row {
  scenario: string;
  'per second': string;
  'p50 ms': string;
  'p99 ms': string;
  'added ms': string;
  'gateway µs': string;
  'worker µs': string;
  'postgres µs': string;
  'redis µs': string;
  /** What a bare `node:http` server costs here and now: the yardstick for the others. */
  'upstream µs': string;
  load: string;
  goal: string;
}

async function measure(system: System, scenario: Scenario, sessions?: number): Promise<Row> {
  const load = { ...scenario, url: system.gateway.url, ...(sessions === undefined ? {} : { sessions }) };
  count(scenario, await system.put({ ...load, forMs: warmMs }));
  const before = cpuNow(system);
  const result = await system.put({ ...load, forMs: measureMs });
  const after = cpuNow(system);
  count(scenario, result);
  const direct = scenario.comparable ? await askDirectly(system, scenario) : undefined;
  const units = result.requests * (scenario.unit === 'chunk' ? CHUNKS_A_STREAM : 1);
  const micros = (part: keyof typeof before) => ((after[part] - before[part]) * 1_000) / units;
  const perSecond = (units * 1_000) / result.elapsedMs;
  return {
    scenario: scenario.name,
    'per second': `${Math.round(perSecond)} ${scenario.unit}s`,
    'p50 ms': result.p50Ms.toFixed(2),
    'p99 ms': result.p99Ms.toFixed(2),
    'added ms': direct === undefined ? '' : addedMs(scenario, result, direct),
    'gateway µs': micros('gateway').toFixed(1),
    'worker µs': scenario.calls === 0 ? '' : micros('worker').toFixed(0),
    'postgres µs': scenario.calls === 0 ? '' : micros('postgres').toFixed(0),
    'redis µs': scenario.calls === 0 || !options.redis ? '' : micros('redis').toFixed(0),
    'upstream µs': scenario.path === '/api/tools/call' ? '' : micros('upstream').toFixed(1),
    load: loadavg()[0]!.toFixed(1),
    goal: judge(scenario, { perSecond, p50Ms: result.p50Ms, gatewayMicros: micros('gateway') }),
  };
}

async function askDirectly(system: System, scenario: Scenario): Promise<LoadResult> {
  return system.put({ ...scenario, url: system.upstreamUrl, forMs: measureMs / 4 });
}

/** Over asking the upstream itself; of streams, to the first bytes. */
function addedMs({ unit }: Scenario, through: LoadResult, direct: LoadResult): string {
  const member = unit === 'chunk' ? 'firstBytesMs' : 'p50Ms';
  return `${(through[member] - direct[member]).toFixed(2)}${unit === 'chunk' ? ' (first)' : ''}`;
}

function judge(scenario: Scenario, was: { perSecond: number; p50Ms: number; gatewayMicros: number }): string {
  const goal = options.redis ? (scenario.goalOnRedis ?? scenario.goal) : scenario.goal;
  if (goal === undefined) return '';
  const { minPerSecond, maxP50Ms, maxGatewayMicros } = goal;
  const checks = [
    minPerSecond === undefined ? [] : [was.perSecond >= minPerSecond, `≥ ${minPerSecond}/s`],
    maxP50Ms === undefined ? [] : [was.p50Ms <= maxP50Ms, `p50 ≤ ${maxP50Ms} ms`],
    maxGatewayMicros === undefined ? [] : [was.gatewayMicros <= maxGatewayMicros, `≤ ${maxGatewayMicros} µs`],
  ];
  return checks.flatMap(([met, text]) => (text === undefined ? [] : [`${text}: ${met ? 'met' : 'missed'}`])).join(', ');
}

function count({ unit, calls }: Scenario, { requests, failures }: LoadResult): void {
  if (failures.length > 0) throw new Error(`not every request succeeded: ${failures.join('\n')}`);
  if (unit === 'loop') put.loops += requests;
  put.calls += requests * calls;
}

function cpuNow({ gateway, worker, postgresPid, redisPid, upstreamPid }: System) {
  return {
    gateway: cpuMs(gateway.pid),
    worker: cpuMs(worker.pid),
    postgres: cpuMsOfTree(postgresPid),
    redis: redisPid === undefined ? 0 : cpuMs(redisPid),
    upstream: cpuMs(upstreamPid),
  };
}

function printMemory(system: System, when: string): void {
  const [gateway, worker] = [residentMegabytes(system.gateway.pid), residentMegabytes(system.worker.pid)];
  console.log(`memory ${when}: gateway ${gateway} MB (goal 220), worker ${worker} MB (goal 210)`);
}

async function checkRows(system: System): Promise<boolean> {
  const rows = await system.rowCounts();
  const right = rows.runs === put.loops && rows.calls === put.calls && rows.audit === put.calls && rows.open === 0;
  console.log(
    `rows: ${rows.runs} runs of ${put.loops} loops, ${rows.calls} calls and ${rows.audit} audit rows of ${put.calls}, ` +
      `${rows.open} not ended: ${right ? 'complete' : 'NOT COMPLETE'}`,
  );
  return right;
}

async function runTurns(system: System, turns: number): Promise<void> {
  const step = Math.ceil(turns / 5);
  const [chat, loop] = [scenarios[1]!, scenarios[4]!];
  for (let done = 0; done < turns; done += step) {
    for (const scenario of [chat, loop]) {
      count(scenario, await system.put({ ...scenario, url: system.gateway.url, forMs: 600_000, atMost: step }));
    }
    printMemory(system, `after ${done + step} loops and as many chats`);
  }
}

const fewSessions = 100;

async function runSessions(system: System, most: number): Promise<void> {
  for (const sessions of [fewSessions, most]) {
    await system.addSessions(sessions);
    const rows: Row[] = [];
    for (const scenario of scenarios) {
      if (scenario.calls > 0 && scenario.inFlight > 1) rows.push(await measure(system, scenario, sessions));
    }
    print(rows);
    printMemory(system, `with ${sessions} known sessions`);
  }
}

function print(rows: readonly Row[]): void {
  for (const { scenario, ...row } of rows) {
    const members = Object.entries(row).filter(([, value]) => value !== '');
    console.log(`${scenario.padEnd(44)} ${members.map(([name, value]) => `${name}: ${value}`).join(' | ')}`);
  }
}

const system = await startSystem({ profileDirectory: options.profile, redis: options.redis });
let complete = false;
try {
  const { settings, gateway, upstreamUrl } = system;
  console.log(
    `${cpus().length} × ${cpus()[0]!.model.trim()}, Node ${process.version}, load ${loadavg()[0]!.toFixed(1)}`,
  );
  console.log(
    `${options.redis ? 'Redis' : 'embedded'} set; gateway ${gateway.url}, upstream ${upstreamUrl}; defaults but for ${JSON.stringify(settings)}`,
  );
  printMemory(system, 'at the start');
  if (options.turns !== undefined) await runTurns(system, Number(options.turns));
  else if (options.sessions !== undefined) await runSessions(system, Number(options.sessions));
  else {
    const rows: Row[] = [];
    for (const scenario of scenarios) {
      if (scenario.name.includes(options.only)) rows.push(await measure(system, scenario));
    }
    print(rows);
  }
  printMemory(system, 'at the end');
  complete = await checkRows(system);
} finally {
  await system.close();
}
process.exit(complete ? 0 : 1);
