// `npm run bench -- --catalog 10000`: a catalog of so many tools, twenty a server, beside one of twenty: what each request costs with
// either, how long a start takes, and what a reload and a worker that is killed under load do to others.
import { setTimeout as delay } from 'node:timers/promises';
import { measureInTurn, printRatio, printScenario, printSubject, type Windows } from './measure.js';
import { answerOf, residentMegabytes, type Service, startPart } from './processes.js';
import type { Scenario } from './scenarios.js';
import { type Measured, signalbox } from './subjects.js';
import { type Fakes, startSystem, type System, untilOffered } from './system.js';

const toolsOfEach = 20;
const everyServer = { type: 'mcp', server_label: '*' };
const messages = [{ role: 'user', content: 'What time is it?' }];
const chat = { path: '/v1/chat/completions', inFlight: 16 } as const;
const mcp = { path: '/mcp', inFlight: 16, calls: 0, unit: 'request' } as const;
const looked = { name: 'find_tools', arguments: { query: 'create an issue in a repository' } };

const scenarios: readonly Scenario[] = [
  { ...chat, name: 'plain chat', body: { model: 'bench/model', messages }, unit: 'request', calls: 0 },
  {
    ...chat,
    name: 'loop with the tools of one server',
    body: { messages, tools: [{ type: 'mcp', server_label: 'workspace' }] },
    unit: 'loop',
    calls: 1,
  },
  { ...chat, name: 'loop with all tools', body: { messages, tools: [everyServer] }, unit: 'loop', calls: 1 },
  {
    ...mcp,
    name: '/mcp tools/call',
    body: { jsonrpc: '2.0', method: 'tools/call', params: { name: 'get_time', arguments: {} } },
    unit: 'call',
    calls: 1,
  },
  { ...mcp, name: '/mcp tools/list, a page', body: { jsonrpc: '2.0', method: 'tools/list', params: {} } },
  {
    ...mcp,
    path: '/mcp?mode=search',
    name: '/mcp?mode=search, find_tools',
    body: { jsonrpc: '2.0', method: 'tools/call', params: looked },
  },
];

interface Setting {
  fakes: Fakes;
  windows: Windows;
  redis: boolean;
}

export async function measureCatalog(tools: number, { windows, ...setting }: Setting): Promise<void> {
  const count = Math.ceil(tools / toolsOfEach);
  const part = startPart('many-servers', String(count + 1), String(toolsOfEach));
  const boxes: Measured[] = [];
  try {
    const { port } = await answerOf<{ port: number }>(part);
    const serversUpTo = (most: number) =>
      Object.fromEntries(
        Array.from({ length: most }, (_none, at) => [`many-${at}`, { url: `http://127.0.0.1:${port}/${at}` }]),
      );
    for (const [name, most] of [
      [`${count * toolsOfEach} tools`, count],
      [`${toolsOfEach} tools`, 1],
    ] as const) {
      const began = performance.now();
      const system = await startSystem({ ...setting, servers: serversUpTo(most) });
      console.log(
        `${name} of ${most} servers, never seen before: all offered ${seconds(began)} after the start; ${memoryOf(system)}`,
      );
      boxes.push({ name, system, put: { loops: 0, calls: 0 }, counts: new Map() });
    }
    await measureScenarios(boxes, windows);
    const [{ system }] = boxes as [Measured];
    await measureReads(boxes);
    await measureGatewayStart(system, Object.keys(serversUpTo(count)));
    await measureReload(system, serversUpTo(count + 1));
    for (const box of boxes) {
      const worker = await measureWorkerKill(box);
      console.log(`at the end, ${box.name}: ${memoryOf({ gateway: box.system.gateway, worker })}`);
    }
  } finally {
    for (const { system } of boxes) await system.close();
    part.kill();
  }
}

const seconds = (began: number): string => `${((performance.now() - began) / 1_000).toFixed(1)} s`;

const memoryOf = ({ gateway, worker }: Pick<System, 'gateway' | 'worker'>): string =>
  `gateway ${residentMegabytes(gateway.pid)} MB, worker ${residentMegabytes(worker.pid)} MB`;

async function measureScenarios(boxes: readonly Measured[], windows: Windows): Promise<void> {
  for (const scenario of scenarios) {
    const measured = await measureInTurn(
      scenario,
      boxes.map((box) => signalbox(box, scenario)),
      windows,
    );
    printScenario(scenario);
    for (const [at, { name }] of boxes.entries()) printSubject(name, scenario, measured[at]!, []);
    printRatio(`${boxes[0]!.name} ÷ ${boxes[1]!.name}`, measured[0]!, measured[1]!);
  }
}

const reads = ['/api/tools', '/api/servers', '/api/overview', '/health/ready', '/health'];

async function measureReads(boxes: readonly Measured[]): Promise<void> {
  for (const path of reads) {
    for (const { name, system } of boxes) {
      const url = `${system.gateway.url}${path}`;
      const first = await fetch(url);
      const bytes = (await first.arrayBuffer()).byteLength;
      const etag = first.headers.get('etag');
      const took = `${(await medianMs(url, {})).toFixed(1)} ms, ${(bytes / 1_024).toFixed(0)} KiB`;
      const known =
        etag === null ? [] : [`not modified ${(await medianMs(url, { 'if-none-match': etag })).toFixed(1)} ms`];
      console.log(`GET ${path}, ${name}: ${[took, ...known].join('; ')}`);
    }
  }
}

async function medianMs(url: string, headers: Record<string, string>): Promise<number> {
  const took: number[] = [];
  for (let time = 0; time < 30; time += 1) {
    const began = performance.now();
    await (await fetch(url, { headers })).arrayBuffer();
    took.push(performance.now() - began);
  }
  return took.toSorted((one, other) => one - other)[took.length >> 1]!;
}

async function measureGatewayStart(system: System, servers: readonly string[]): Promise<void> {
  const began = performance.now();
  const gateway = await system.startGateway();
  const ready = seconds(began);
  await untilOffered(gateway.url, servers);
  console.log(`another gateway: ready after ${ready}, all tools offered after ${seconds(began)}`);
  await gateway.stop();
}

/** One server more; what else is asked meanwhile says for how long the event loops were busy. */
async function measureReload(system: System, servers: object): Promise<void> {
  const names = Object.keys(servers);
  const ended = new AbortController();
  const probes = [system.gateway, system.worker].map((service) => longestWaitMs(service, ended.signal));
  const began = performance.now();
  await system.configure(servers);
  await untilOffered(system.gateway.url, names.slice(-1));
  const took = seconds(began);
  ended.abort();
  const [gateway, worker] = await Promise.all(probes);
  console.log(
    `one server more: its tools are offered ${took} after the file was written; longest answer of /health/live meanwhile: ` +
      `gateway ${gateway!.toFixed(0)} ms, worker ${worker!.toFixed(0)} ms`,
  );
}

async function longestWaitMs({ url }: Service, signal: AbortSignal): Promise<number> {
  let longest = 0;
  while (!signal.aborted) {
    const began = performance.now();
    await (await fetch(`${url}/health/live`)).arrayBuffer();
    longest = Math.max(longest, performance.now() - began);
    await delay(5);
  }
  return longest;
}

/** Loops all the time; the worker is killed and another one started. */
async function measureWorkerKill({ name, system }: Measured): Promise<Service> {
  const loop = scenarios.find(({ name }) => name === 'loop with all tools')!;
  const load = system.put({ path: loop.path!, body: loop.body, inFlight: 16, forMs: 20_000 });
  await delay(3_000);
  process.kill(system.worker.pid, 'SIGKILL');
  const began = performance.now();
  const worker = await system.startWorker();
  const ready = seconds(began);
  const { requests, p50Ms, p99Ms, failures } = await load;
  console.log(
    `${name}: worker killed under 16 loops: another one ready after ${ready}; ${requests} loops, ${failures.length === 0 ? 'none' : 'SOME'} failed, ` +
      `p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms`,
  );
  for (const failure of failures) console.log(`  ${failure}`);
  return worker;
}
