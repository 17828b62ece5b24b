// `npm run bench`: what a chat, a stream, a loop and a tool call cost on this machine, and whether every one of them is in
// the journal and the audit. Exit codes: 0 measured, 1 something failed or rows are missing; missed goals are only shown.
import { cpus, loadavg } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { measureAdapters } from './adapters.js';
import { approvalSettings, measureApprovals } from './approvals.js';
import { auditReadingScenario, auditScenario, measureAuditReading, measureAuditRows } from './audit.js';
import { measureConsole } from './console.js';
import { measureCatalog } from './catalog.js';
import { measureConnections } from './connections.js';
import { chimechScenario, measureChimech } from './chimech.js';
import { knowledgeScenario, measureKnowledge } from './knowledge.js';
import { largeFilesSettings, measureLargeFiles } from './large-files.js';
import { measureInTurn, medianOf, ownMicros, printRatio, printScenario, printSubject } from './measure.js';
import { ratioOf, ratioText, type Subject, type Window } from './measure.js';
import { installPeers, type Peers } from './peers.js';
import { residentMegabytes, type Service } from './processes.js';
import { measureStarts } from './sandbox-starts.js';
import { type Goal, type Scenario, scenarios } from './scenarios.js';
import { runSoak, soakSettings } from './soak.js';
import {
  bareProxy,
  countPaths,
  directly,
  type Measured,
  putTo,
  queueAlone,
  signalbox,
  startBareProxy,
} from './subjects.js';
import { startFakes, startSystem, type SystemOptions } from './system.js';
import { measureWorkspaces } from './workspaces.js';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    /** Only scenarios whose name contains it. */
    only: { type: 'string', default: '' },
    /** Another checkout, built: the same scenarios in the same run, a window of each in turn. */
    against: { type: 'string' },
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
    /** Instead of the scenarios: a catalog of so many tools, beside one of few. */
    catalog: { type: 'string' },
    /** Instead of the scenarios: so many principals with a connection at one tool server, beside ten. */
    connections: { type: 'string' },
    /** Instead of the scenarios: the console in a browser, on a store of so many runs. */
    console: { type: 'string' },
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

const windows = options.quick ? { warmMs: 500, count: 3, lengthMs: 400 } : { warmMs: 3_000, count: 5, lengthMs: 1_000 };
const chosen = scenarios.filter(({ name }) => name.includes(options.only));
const fakes = await startFakes();
if (options.catalog !== undefined) {
  await measureCatalog(Number(options.catalog), {
    fakes,
    windows,
    redis: options.redis,
  });
  fakes.close();
  process.exit(0);
}

if (options.connections !== undefined) {
  const isRight = await measureConnections(Number(options.connections), { fakes, redis: options.redis });
  fakes.close();
  process.exit(isRight ? 0 : 1);
}

/** Starts it, after its counts: whoever counts is another process. */
async function open(name: string, more: Omit<SystemOptions, 'fakes' | 'redis'>, counted: readonly Scenario[] = []) {
  const given = { fakes, redis: options.redis, ...more };
  const counts = await countPaths(given, counted);
  const box: Measured = { name, system: await startSystem(given), put: { loops: 0, calls: 0 }, counts };
  return box;
}

async function runScenarios(box: Measured, other: Measured | undefined): Promise<void> {
  const peers = options.peers ? await installPeers(fakes) : undefined;
  const proxy = await startBareProxy(fakes);
  try {
    for (const scenario of chosen) await runScenario(scenario, { box, other, proxy, peers });
  } finally {
    await proxy.stop();
    await peers?.close();
  }
}

interface Run {
  box: Measured;
  other: Measured | undefined;
  proxy: Service;
  peers: Peers | undefined;
}

async function runScenario(scenario: Scenario, { box, other, proxy, peers }: Run): Promise<void> {
  const goal = (options.redis ? scenario.goalOnRedis : undefined) ?? scenario.goal;
  const isQueue = scenario.path === undefined;
  const opened: Subject[] = [];
  try {
    opened.push(isQueue ? await queueAlone(box.system) : signalbox(box, scenario));
    if (!isQueue && other !== undefined) opened.push(signalbox(other, scenario));
    const boxes = opened.length;
    if (!isQueue) opened.push(bareProxy(fakes, proxy, scenario));
    if (goal?.maxAddedMs !== undefined) opened.push(await directly(fakes, scenario));
    const compared = opened.length;
    opened.push(...((await peers?.open(scenario, box.system.redisUrl)) ?? []));
    const measured = await measureInTurn(scenario, opened, windows);
    const [ours, bare] = [measured[0]!, isQueue ? undefined : measured[boxes]];
    const direct = goal?.maxAddedMs === undefined ? undefined : measured[boxes + 1];
    printScenario(scenario);
    for (const [at, { name }] of opened.entries()) {
      const [its, counts] = [measured[at]!, [box, other][at]?.counts.get(scenario)];
      const toBare = bare === undefined ? undefined : `${ratioText(ratioOf(its, bare, ownMicros))} bare`;
      const more =
        at === 0 ? [toBare, counts, goal && judge(goal, { scenario, ours, bare, direct })] : [toBare, counts];
      printSubject(name, scenario, its, at < boxes ? more : []);
    }
    for (const [at, { name }] of opened.entries()) {
      if ((at > 0 && at < boxes) || at >= compared) printRatio(`this ÷ ${name}`, ours, measured[at]!);
    }
  } finally {
    for (const each of opened) await each.close?.();
  }
}

interface Judged {
  scenario: Scenario;
  ours: readonly Window[];
  bare: readonly Window[] | undefined;
  direct: readonly Window[] | undefined;
}

function judge(goal: Goal, { scenario, ours, bare, direct }: Judged): string {
  const { minPerSecond, maxP50Ms, maxAddedMs, maxTimesBare } = goal;
  const waited = (window: Window) => (scenario.unit === 'chunk' ? window.firstBytesMs : window.p50Ms);
  const addedMs = direct === undefined ? NaN : medianOf(ours, waited) - medianOf(direct, waited);
  const checks: [boolean, string][] = [];
  if (minPerSecond !== undefined)
    checks.push([medianOf(ours, ({ perSecond }) => perSecond) >= minPerSecond, `≥ ${minPerSecond}/s`]);
  if (maxP50Ms !== undefined) checks.push([medianOf(ours, waited) <= maxP50Ms, `p50 ≤ ${maxP50Ms} ms`]);
  if (maxAddedMs !== undefined)
    checks.push([addedMs <= maxAddedMs, `added ${addedMs.toFixed(2)} ms, goal ≤ ${maxAddedMs} ms`]);
  if (maxTimesBare !== undefined)
    checks.push([ratioOf(ours, bare!, ownMicros).median <= maxTimesBare, `≤ ${maxTimesBare} × bare`]);
  return checks.map(([met, text]) => `${text}: ${met ? 'met' : 'missed'}`).join(', ');
}

function printMemory({ name, system }: Measured, when: string): void {
  const [gateway, worker] = [residentMegabytes(system.gateway.pid), residentMegabytes(system.worker.pid)];
  console.log(`memory ${when}, ${name}: gateway ${gateway} MB (goal 200), worker ${worker} MB (goal 190)`);
}

async function checkRows({ name, system, put }: Measured): Promise<boolean> {
  const rows = await system.rowCounts();
  const right = rows.runs === put.loops && rows.calls === put.calls && rows.audit === put.calls && rows.open === 0;
  console.log(
    `rows, ${name}: ${rows.runs} runs of ${put.loops} loops, ${rows.calls} calls and ${rows.audit} audit rows of ${put.calls}, ` +
      `${rows.open} not ended: ${right ? 'complete' : 'NOT COMPLETE'}`,
  );
  return right;
}

async function runTurns(box: Measured, turns: number): Promise<void> {
  const step = Math.ceil(turns / 5);
  const at16 = (unit: Scenario['unit']) => scenarios.find((each) => each.unit === unit && each.inFlight === 16)!;
  for (let done = 0; done < turns; done += step) {
    for (const scenario of [at16('request'), at16('loop')])
      await putTo(box, scenario, { inFlight: 16, forMs: 600_000, atMost: step });
    printMemory(box, `after ${done + step} loops and as many chats`);
  }
}

async function runSessions(box: Measured, most: number): Promise<void> {
  for (const sessions of [100, most]) {
    await box.system.addSessions(sessions);
    for (const scenario of scenarios) {
      const takesSession = scenario.path !== undefined && scenario.path !== '/mcp';
      if (!takesSession || scenario.calls === 0 || scenario.inFlight === 1) continue;
      const [windowsOfIt] = await measureInTurn(scenario, [signalbox(box, scenario, sessions)], windows);
      printScenario(scenario);
      printSubject(`${sessions} sessions`, scenario, windowsOfIt!, []);
    }
    printMemory(box, `with ${sessions} known sessions`);
  }
}

async function runAll(box: Measured, other: Measured | undefined): Promise<void> {
  await runScenarios(box, other);
  const { system, put } = box;
  if (auditScenario.includes(options.only))
    put.calls += await measureAuditRows(system, options.quick ? 10_000 : 40_000);
  if (auditReadingScenario.includes(options.only))
    await measureAuditReading(system, options.quick ? 100_000 : 1_000_000);
  if (chimechScenario.includes(options.only)) await measureChimech(system, options.quick ? 5_000 : 60_000);
  if (knowledgeScenario.includes(options.only))
    await measureKnowledge(system.databaseUrl, options.quick ? 10_000 : 100_000);
}

/** What the store must hold afterwards is known of scenarios only. */
async function run(box: Measured, other: Measured | undefined): Promise<boolean> {
  const { soak, turns, sessions } = options;
  if (soak !== undefined) return runSoak(box.system, Number(soak));
  if (options.files) return measureLargeFiles(box.system);
  if (options.approvals) {
    await measureApprovals(box.system);
    return true;
  }
  if (options.console !== undefined) {
    await measureConsole(box.system, Number(options.console));
    return true;
  }
  if (turns !== undefined) await runTurns(box, Number(turns));
  else if (sessions !== undefined) await runSessions(box, Number(sessions));
  else await runAll(box, other);
  let complete = true;
  for (const each of other === undefined ? [box] : [box, other]) {
    printMemory(each, 'at the end');
    complete = (await checkRows(each)) && complete;
  }
  return complete;
}

function settingsOfRun(): Record<string, string> {
  if (options.approvals) return approvalSettings;
  if (options.files) return largeFilesSettings;
  return options.soak === undefined ? {} : soakSettings;
}

function printStart({ name, system }: Measured): void {
  const { gateway, worker, postgresStartMs } = system;
  const startMs = { PostgreSQL: postgresStartMs, gateway: gateway.startMs, worker: worker.startMs };
  const started = Object.entries(startMs).map(([part, ms]) => `${part} ${Math.round(ms)} ms`);
  console.log(`ready after, ${name}: ${started.join(', ')}`);
}

const settings = settingsOfRun();
const instead = options.approvals || options.files || (options.soak ?? options.turns ?? options.sessions) !== undefined;
const counted = instead ? [] : chosen;
const boxes: Measured[] = [];
let complete = false;
try {
  console.log(
    `${cpus().length} × ${cpus()[0]!.model.trim()}, Node ${process.version}, load ${loadavg()[0]!.toFixed(1)}; ` +
      `${options.redis ? 'Redis' : 'embedded'} set; defaults but for ${JSON.stringify(settings)}`,
  );
  boxes.push(await open('this', { settings, profileDirectory: options.profile }, counted));
  if (options.against !== undefined && !instead) {
    const checkout = resolve(options.against);
    boxes.push(await open(checkout, { settings, checkout }, counted));
  }
  for (const box of boxes) {
    printStart(box);
    printMemory(box, 'at the start');
  }
  complete = await run(boxes[0]!, boxes[1]);
} finally {
  for (const { system } of boxes) await system.close();
  fakes.close();
}
process.exit(complete ? 0 : 1);
