// `npm run bench -- --soak 1000`: so many sessions, each with a tool server of its own, one after another through one
// worker; then what is left of them: processes, descriptors, timers, memory. And what twenty idle servers weigh.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { eachInTurn } from '#libs/concurrency/lists/each-in-turn.js';
import { identifyProcess, isSameProcess } from '#libs/process/process-identity.js';
import { Pool } from 'undici';
import { descendantsOf } from '../apps/worker/sandbox/descendants.js';
import { residentMegabytes } from './processes.js';
import type { System } from './system.js';

const files = { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '${WORKSPACE}'] };

/** The servers of the soak: instances of the first go soon, those of the second stay, the third is ready beforehand. */
export const soakSettings = {
  MCP_SERVERS: JSON.stringify({
    brief: { ...files, idle_ttl_ms: 500, max_instances: 8 },
    lasting: { ...files, max_instances: 20 },
    ready: { ...files, standbys: 2, max_instances: 8 },
  }),
};

const atOnce = 4;
const warmUp = 40;
const idleServers = 20;
/** What the pools of the store and the queue may open later than in the warm-up; a leak would have one a session. */
const pooledConnections = 8;
const endsWithinMs = 60_000;

interface Left {
  processes: number;
  descriptors: number;
  timers: number;
  rssMegabytes: number;
}

/** Resolves with whether nothing was left. */
export async function runSoak(system: System, sessions: number): Promise<boolean> {
  const { worker, gateway } = system;
  const client = new Pool(gateway.url, { connections: atOnce });
  const call = async (name: string, session: string, args: object) => {
    const body = JSON.stringify({ name, arguments: args, session_id: session });
    const headers = { 'content-type': 'application/json' };
    const answer = await client.request({ method: 'POST', path: '/api/tools/call', headers, body });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${name} in ${session}: ${answer.statusCode} ${text.slice(0, 300)}`);
  };
  const tool = (server: string) => `${server}__list_allowed_directories`;
  const oneSession = async (session: string) => {
    await call(tool('brief'), session, {});
    await call(tool('brief'), session, {});
  };
  try {
    const start = await settled(system);
    await printStarts(call, tool);
    await inParallel(warmUp, (index) => oneSession(`warm-${index}`));
    const before = await settled(system);
    print('after the warm-up', before);
    const step = Math.max(1, Math.ceil(sessions / 5));
    for (let done = 0; done < sessions; done += step) {
      await inParallel(Math.min(step, sessions - done), (index) => oneSession(`soak-${done + index}`));
      print(`after ${Math.min(sessions, done + step)} sessions`, await settled(system));
    }
    const after = await settled(system);
    const flat = after.rssMegabytes <= start.rssMegabytes * 1.1;
    const left = after.processes > before.processes || after.descriptors > before.descriptors + pooledConnections;
    console.log(
      `left behind: ${left ? 'SOMETHING' : 'nothing'}; memory ${flat ? 'within' : 'ABOVE'} 110 % of the start`,
    );
    await printIdleServers(worker.pid, (session) => call(tool('lasting'), session, {}));
    const known = (await descendantsOf(worker.pid)).flatMap((pid) => identifyProcess(pid) ?? []);
    await worker.stop();
    const alive = known.filter(isSameProcess).length;
    console.log(`processes of tool servers after the worker's stop: ${alive}`);
    return flat && !left && alive === 0;
  } finally {
    await client.destroy();
  }
}

type Call = (name: string, session: string, args: object) => Promise<void>;

/** The first call of a session: with a process to start, and with one that waits for it. */
async function printStarts(call: Call, tool: (server: string) => string): Promise<void> {
  const took = { brief: [] as number[], ready: [] as number[], again: [] as number[] };
  for (let index = 0; index < 10; index += 1) {
    for (const server of ['brief', 'ready'] as const) {
      // Those that are ready are started anew after each.
      await delay(1_500);
      const session = `start-${server}-${index}`;
      took[server].push(await timed(() => call(tool(server), session, {})));
      if (server === 'ready') took.again.push(await timed(() => call(tool(server), session, {})));
    }
  }
  const median = (values: number[]) => values.sort((left, right) => left - right)[values.length >> 1]!.toFixed(1);
  console.log(
    `first call of a session, median: ${median(took.brief)} ms, with a standby ${median(took.ready)} ms ` +
      `(a later call ${median(took.again)} ms)`,
  );
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** The share of memory that is theirs alone and their part of what is shared, as the kernel counts it. */
async function printIdleServers(workerPid: number, use: (session: string) => Promise<void>): Promise<void> {
  const before = new Set(await descendantsOf(workerPid));
  await inParallel(idleServers, (index) => use(`idle-${index}`));
  const processes = (await descendantsOf(workerPid)).filter((pid) => !before.has(pid));
  const megabytes = processes.map((pid) => {
    const [, kilobytes] = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? [];
    return Number(kilobytes) / 1_024;
  });
  const sum = megabytes.reduce((total, each) => total + each, 0);
  console.log(
    `${idleServers} idle filesystem servers: PSS ${(sum / idleServers).toFixed(1)} MB each with its launcher (goal 35), ` +
      `largest process ${Math.max(...megabytes).toFixed(1)} MB`,
  );
}

/** When the instances of the sessions have ended. @throws Error when they do not. */
async function settled({ worker }: System): Promise<Left> {
  for (const until = performance.now() + endsWithinMs; ; await delay(200)) {
    const metrics = await (await fetch(`${worker.url}/metrics`)).text();
    const valueOf = (series: string) =>
      Number(
        metrics
          .split('\n')
          .find((line) => line.startsWith(`${series} `))
          ?.slice(series.length + 1) ?? 0,
      );
    const open = ['connecting', 'busy', 'idle', 'closing'].map((state) =>
      valueOf(`signalbox_mcp_instances{server="brief",state="${state}"}`),
    );
    if (open.every((count) => count === 0)) {
      return {
        processes: (await descendantsOf(worker.pid)).length,
        descriptors: await fewestDescriptors(worker.pid),
        timers: valueOf('nodejs_active_resources{type="Timeout"}'),
        rssMegabytes: residentMegabytes(worker.pid),
      };
    }
    if (performance.now() > until) throw new Error(`instances of ended sessions are still there: ${open.join(' ')}`);
  }
}

/** A scrape that was just made reads /proc for a moment, and holds some meanwhile. */
async function fewestDescriptors(pid: number): Promise<number> {
  let fewest = Infinity;
  for (let look = 0; look < 10; look += 1) {
    fewest = Math.min(fewest, readdirSync(`/proc/${pid}/fd`).length);
    await delay(100);
  }
  return fewest;
}

function print(when: string, { processes, descriptors, timers, rssMegabytes }: Left): void {
  console.log(
    `${when}: ${processes} processes, ${descriptors} descriptors, ${timers} timers, worker ${rssMegabytes} MB`,
  );
}

const inParallel = (count: number, work: (index: number) => Promise<void>): Promise<void> =>
  eachInTurn(Array(count).keys(), atOnce, work);
