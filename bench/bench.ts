// `npm run bench`: what a chat, a stream, a loop and a tool call cost on this machine, and whether every one of them is in
// the journal and the audit. Exit codes: 0 measured, 1 something failed or rows are missing; missed goals are only shown.
import { measurePolicyDecisions, policyScenario } from './policy-decisions.js';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { measureAdapters } from './adapters.js';
import { auditReadingScenario, measureAuditReading } from './audit-reading.js';
import { approvalSettings, measureApprovals } from './approvals.js';
import { auditScenario, measureAuditRows } from './audit-rows.js';
import { chimechScenario, measureChimech } from './chimech.js';
import { cpuMs, cpuMsOfTree, residentMegabytes } from './processes.js';
import type { Busy, LoadResult } from './keep-busy.js';
import { knowledgeScenario, measureKnowledge } from './knowledge.js';
import { largeFilesSettings, measureLargeFiles } from './large-files.js';
import { installPeers, type PeerFigures } from './peers.js';
import { chunksAStream, type Scenario, scenarios, warmingUp } from './scenarios.js';
import { limitsScenario, measureLimits } from './limits.js';
import { measureSignIns, signInScenario } from './sign-ins.js';
import { runSoak, soakSettings } from './soak.js';
import { startSystem, type System } from './system.js';
import { measureStarts } from './sandbox-starts.js';
import { measureWorkspaces } from './workspaces.js';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    /** Only scenarios whose name contains it. */
    only: { type: 'string', default: '' },
    /** A directory for CPU profiles of gateway and worker. */
    profile: { type: 'string' },
    /** Queue, channels, counters and cache in Redis; `redis-server` must be on the path. */
    redis: { type: 'boolean', default: false },
    /** The same scenarios put to Portkey and to the AI SDK, which npm fetches into a temporary directory. */
    peers: { type: 'boolean', default: false },
    /** Instead of the scenarios: what a streamed chunk costs in each family of models, in this process. */
    adapters: { type: 'boolean', default: false },
    /** Instead of the scenarios: so many loops and as many plain chats, with the memory in between. */
    turns: { type: 'string' },
    /** Instead of the scenarios: so many sessions with a tool server each, and what is left of them. */
    soak: { type: 'string' },
    /** Instead of the scenarios: a loop and a tool call among few sessions, then among so many known ones. */
    sessions: { type: 'string' },
    /** Instead of the scenarios: how long a decision takes to a stream that waits for it on another gateway. */
    approvals: { type: 'boolean', default: false },
    /** Instead of the scenarios: the memory that 1 GiB files take. */
    files: { type: 'boolean', default: false },
    /** Instead of the scenarios: a workspace of so many files, and how soft the quota of a tool server is. */
    workspaces: { type: 'string' },
    /** Instead of the scenarios: what isolation adds to the start of a tool server. */
    starts: { type: 'boolean', default: false },
  },
});
if (options.starts) process.exit((await measureStarts()) ? 0 : 1);
if (options.workspaces !== undefined) process.exit((await measureWorkspaces(Number(options.workspaces))) ? 0 : 1);
if (options.adapters) process.exit((await measureAdapters()) ? 0 : 1);

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

interface Figures {
  perSecond: number;
  p50Ms: number;
  firstBytesMs: number;
  /** Over what it is compared with. */
  addedMs: number | undefined;
  gatewayMicros: number;
  /** Of gateway and, where it takes part, worker. */
  micros: number;
}

async function measure(system: System, scenario: Scenario, sessions?: number): Promise<{ row: Row; figures: Figures }> {
  const subject = await openSubject(system, scenario, sessions);
  try {
    count(scenario, await subject.put(warmingUp(scenario, warmMs)));
    const before = cpuNow(system, subject);
    const result = await subject.put({ inFlight: scenario.inFlight, forMs: measureMs });
    const after = cpuNow(system, subject);
    count(scenario, result);
    const direct = await askDirectly(system, scenario);
    const units = result.requests * (scenario.unit === 'chunk' ? chunksAStream : 1);
    const micros = (part: keyof typeof before) => ((after[part] - before[part]) * 1_000) / units;
    const perSecond = (units * 1_000) / result.elapsedMs;
    const addedMs = direct === undefined ? undefined : addedOver(scenario, result, direct);
    const queued = scenario.calls > 0 || scenario.unit === 'trip';
    const gatewayMicros = micros('gateway');
    const both = gatewayMicros + (queued ? micros('worker') : 0);
    const figures: Figures = {
      perSecond,
      p50Ms: result.p50Ms,
      firstBytesMs: result.firstBytesMs,
      addedMs,
      gatewayMicros,
      micros: both,
    };
    const row: Row = {
      scenario: scenario.name,
      'per second': `${Math.round(perSecond)} ${scenario.unit}s`,
      'p50 ms': result.p50Ms.toFixed(2),
      'p99 ms': result.p99Ms.toFixed(2),
      'added ms': addedMs === undefined ? '' : `${addedMs.toFixed(2)}${scenario.unit === 'chunk' ? ' (first)' : ''}`,
      'gateway µs': gatewayMicros.toFixed(1),
      'worker µs': queued ? micros('worker').toFixed(0) : '',
      'postgres µs': queued ? micros('postgres').toFixed(0) : '',
      'redis µs': queued && options.redis ? micros('redis').toFixed(0) : '',
      'upstream µs': scenario.unit === 'call' || scenario.unit === 'trip' ? '' : micros('upstream').toFixed(1),
      load: loadavg()[0]!.toFixed(1),
      goal: judge(scenario, figures),
    };
    return { row, figures };
  } finally {
    subject.close();
  }
}

/** What a scenario is put to, and whose CPU time is the asking side's and the answering side's. */
interface Subject {
  gatewayPid: number;
  workerPid: number;
  put(busy: Busy): Promise<LoadResult>;
  close(): void;
}

async function openSubject(system: System, scenario: Scenario, sessions?: number): Promise<Subject> {
  const { path } = scenario;
  if (path !== undefined) {
    const load = { ...scenario, path, url: system.gateway.url, ...(sessions === undefined ? {} : { sessions }) };
    return {
      gatewayPid: system.gateway.pid,
      workerPid: system.worker.pid,
      put: (busy) => system.put({ ...load, ...busy }),
      close: () => undefined,
    };
  }
  const parts = await system.startQueueParts();
  return {
    gatewayPid: parts.trips.pid!,
    workerPid: parts.echo.pid!,
    put: (busy) => parts.put(busy),
    close: () => parts.close(),
  };
}

/** How we compare: more a second is better, less CPU time is. */
async function comparePeers(system: System, measured: { scenario: Scenario; figures: Figures }[]): Promise<void> {
  const peers = await installPeers();
  try {
    for (const { scenario, figures } of measured) {
      for await (const peer of peers.measure({ system, scenario, warmMs, measureMs }))
        printPeer(scenario, figures, peer);
    }
  } finally {
    await peers.close();
  }
}

function printPeer(scenario: Scenario, we: Figures, peer: PeerFigures): void {
  const rate = `${Math.round(peer.perSecond)} ${scenario.unit}s/s (we: ${(we.perSecond / peer.perSecond).toFixed(2)} ×)`;
  const cpu = `${peer.micros.toFixed(1)} µs (we: ${(we.micros / peer.micros).toFixed(2)} ×)`;
  const [theirs, ours] = scenario.unit === 'chunk' ? [peer.firstBytesMs, we.firstBytesMs] : [peer.p50Ms, we.p50Ms];
  const waited = `${scenario.unit === 'chunk' ? 'first' : 'p50'} ${theirs.toFixed(2)} ms (we: ${ours.toFixed(2)})`;
  console.log(`${peer.peer}, ${scenario.name}`.padEnd(66), `${rate} | ${waited} | CPU ${cpu} | ${peer.megabytes} MB`);
}

async function askDirectly(system: System, scenario: Scenario): Promise<LoadResult | undefined> {
  const { beside, path, inFlight } = scenario;
  const forMs = measureMs / 4;
  if (beside === 'tool server') return system.putBare({ inFlight, forMs });
  return beside === 'upstream' ? system.put({ ...scenario, path: path!, url: system.upstreamUrl, forMs }) : undefined;
}

/** Over what it is compared with; of streams, to the first bytes. */
function addedOver({ unit }: Scenario, through: LoadResult, direct: LoadResult): number {
  const member = unit === 'chunk' ? 'firstBytesMs' : 'p50Ms';
  return through[member] - direct[member];
}

function judge(scenario: Scenario, was: Figures): string {
  const goal = options.redis ? (scenario.goalOnRedis ?? scenario.goal) : scenario.goal;
  if (goal === undefined) return '';
  const { minPerSecond, maxP50Ms, maxAddedMs, maxGatewayMicros } = goal;
  const checks = [
    minPerSecond === undefined ? [] : [was.perSecond >= minPerSecond, `≥ ${minPerSecond}/s`],
    maxP50Ms === undefined ? [] : [was.p50Ms <= maxP50Ms, `p50 ≤ ${maxP50Ms} ms`],
    maxAddedMs === undefined ? [] : [was.addedMs! <= maxAddedMs, `added ≤ ${maxAddedMs} ms`],
    maxGatewayMicros === undefined ? [] : [was.gatewayMicros <= maxGatewayMicros, `≤ ${maxGatewayMicros} µs`],
  ];
  return checks.flatMap(([met, text]) => (text === undefined ? [] : [`${text}: ${met ? 'met' : 'missed'}`])).join(', ');
}

function count({ unit, calls }: Scenario, { requests, failures }: LoadResult): void {
  if (failures.length > 0) throw new Error(`not every request succeeded: ${failures.join('\n')}`);
  if (unit === 'loop') put.loops += requests;
  put.calls += requests * calls;
}

function cpuNow({ postgresPid, redisPid, upstreamPid }: System, { gatewayPid, workerPid }: Subject) {
  return {
    gateway: cpuMs(gatewayPid),
    worker: cpuMs(workerPid),
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
  const at16 = (unit: Scenario['unit']) => scenarios.find((each) => each.unit === unit && each.inFlight === 16)!;
  for (let done = 0; done < turns; done += step) {
    for (const scenario of [at16('request'), at16('loop')]) {
      count(
        scenario,
        await system.put({ ...scenario, path: scenario.path!, url: system.gateway.url, forMs: 600_000, atMost: step }),
      );
    }
    printMemory(system, `after ${done + step} loops and as many chats`);
  }
}

async function runSessions(system: System, most: number): Promise<void> {
  for (const sessions of [100, most]) {
    await system.addSessions(sessions);
    const rows: Row[] = [];
    for (const scenario of scenarios) {
      const takesSession = scenario.path !== undefined && scenario.path !== '/mcp';
      if (!takesSession || scenario.calls === 0 || scenario.inFlight === 1) continue;
      rows.push((await measure(system, scenario, sessions)).row);
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

function settingsOfRun(): Record<string, string> {
  if (options.approvals) return approvalSettings;
  if (options.files) return largeFilesSettings;
  return options.soak === undefined ? {} : soakSettings;
}

const system = await startSystem({
  profileDirectory: options.profile,
  redis: options.redis,
  settings: settingsOfRun(),
});
let complete = false;
try {
  const { settings, gateway, upstreamUrl } = system;
  console.log(
    `${cpus().length} × ${cpus()[0]!.model.trim()}, Node ${process.version}, load ${loadavg()[0]!.toFixed(1)}`,
  );
  console.log(
    `${options.redis ? 'Redis' : 'embedded'} set; gateway ${gateway.url}, upstream ${upstreamUrl}; defaults but for ${JSON.stringify(settings)}`,
  );
  const startMs = { PostgreSQL: system.postgresStartMs, gateway: gateway.startMs, worker: system.worker.startMs };
  const started = Object.entries(startMs).map(([name, ms]) => `${name} ${Math.round(ms)} ms`);
  console.log(`ready after: ${started.join(', ')}`);
  printMemory(system, 'at the start');
  if (options.soak !== undefined) complete = await runSoak(system, Number(options.soak));
  else if (options.files) complete = await measureLargeFiles(system);
  else if (options.approvals) {
    await measureApprovals(system);
    complete = true;
  } else if (options.turns !== undefined) await runTurns(system, Number(options.turns));
  else if (options.sessions !== undefined) await runSessions(system, Number(options.sessions));
  else {
    const measured: { scenario: Scenario; row: Row; figures: Figures }[] = [];
    for (const scenario of scenarios) {
      if (scenario.name.includes(options.only)) measured.push({ scenario, ...(await measure(system, scenario)) });
    }
    print(measured.map(({ row }) => row));
    if (auditScenario.includes(options.only))
      put.calls += await measureAuditRows(system, options.quick ? 10_000 : 40_000);
    if (auditReadingScenario.includes(options.only))
      await measureAuditReading(system, options.quick ? 100_000 : 1_000_000);
    if (policyScenario.includes(options.only)) measurePolicyDecisions();
    if (chimechScenario.includes(options.only)) await measureChimech(system, options.quick ? 5_000 : 60_000);
    if (knowledgeScenario.includes(options.only))
      await measureKnowledge(system.databaseUrl, options.quick ? 10_000 : 100_000);
    if (options.peers) await comparePeers(system, measured);
    if (limitsScenario.includes(options.only)) await measureLimits(system);
    if (signInScenario.includes(options.only)) await measureSignIns(system);
  }
  if (options.soak === undefined && !options.files && !options.approvals) {
    printMemory(system, 'at the end');
    complete = await checkRows(system);
  }
} finally {
  await system.close();
}
process.exit(complete ? 0 : 1);
