// Chimech at its targets: 50 calls a second, begun on time whatever the earlier ones take, with a model that answers at once
// behind the gateway. It lists the tools first and calls those that it knows, in turn.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { cpuMs, residentMegabytes, startService } from './processes.js';
import type { System } from './system.js';

export const chimechScenario = 'chimech, 50 calls a second';

const perSecond = 50;
const goals = { p95Ms: 200, errorPercent: 0.1, megabytes: 100, cpuPercent: 50 };

/** Arguments by tool; a number makes each call differ. */
const argumentsOf: Record<string, (number: number) => object> = {
  'chimech/query': (number) => ({ question: `What is the answer to number ${number}?`, context: 'All is well.' }),
  'chimech/generate': (number) => ({ prompt: `A note about number ${number}`, options: { length: 'short' } }),
  'chimech/analyze': (number) => ({ content: `All is well here. This is text number ${number}.`, type: 'text' }),
};

/** `forMs` of load, after a tenth of it that does not count. */
export async function measureChimech({ gateway }: Pick<System, 'gateway'>, forMs: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-bench-chimech-'));
  const chimech = await startService({
    app: 'chimech',
    environment: { CHIMECH_GATEWAY_URL: gateway.url, MAX_REQUESTS_PER_MINUTE: '1000000' },
    directory,
    home: directory,
    profile: false,
  });
  const pool = new Pool(chimech.url, { connections: 64 });
  const rpc = async (method: string, params: object = {}) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const answer = await pool.request({ method: 'POST', path: '/mcp', headers, body });
    return (await answer.body.json()) as { result?: { isError?: boolean; tools?: { name: string }[] } };
  };
  try {
    const listed = (await rpc('tools/list')).result?.tools ?? [];
    const shown = new Set(listed.map(({ name }) => name));
    const tools = Object.keys(argumentsOf).filter((name) => shown.has(name.replace('/', '_')));
    let number = 0;
    const call = () => {
      const name = tools[number++ % tools.length]!;
      return rpc('tools/call', { name, arguments: argumentsOf[name]!(number) });
    };
    await load(call, forMs / 10);
    const [cpuBefore, began] = [cpuMs(chimech.pid), performance.now()];
    const { took, errors } = await load(call, forMs);
    const cpuPercent = ((cpuMs(chimech.pid) - cpuBefore) / (performance.now() - began)) * 100;
    print(tools, { took, errors, cpuPercent, megabytes: residentMegabytes(chimech.pid) });
  } finally {
    await pool.close();
    await chimech.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

interface Loaded {
  took: number[];
  errors: number;
}

async function load(call: () => Promise<{ result?: { isError?: boolean } }>, forMs: number): Promise<Loaded> {
  const loaded: Loaded = { took: [], errors: 0 };
  const running: Promise<void>[] = [];
  const began = performance.now();
  for (let begun = 0; begun < (forMs / 1_000) * perSecond; begun += 1) {
    const due = began + (begun * 1_000) / perSecond;
    await delay(Math.max(0, due - performance.now()));
    running.push(one(call, due, loaded));
  }
  await Promise.all(running);
  return loaded;
}

/** Timed from the moment that it was due. */
async function one(call: () => Promise<{ result?: { isError?: boolean } }>, due: number, loaded: Loaded) {
  try {
    const { result } = await call();
    if (result === undefined || result.isError === true) loaded.errors += 1;
  } catch {
    loaded.errors += 1;
  }
  loaded.took.push(performance.now() - due);
}

function print(tools: readonly string[], figures: Loaded & { cpuPercent: number; megabytes: number }): void {
  const sorted = figures.took.sort((left, right) => left - right);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  const errorPercent = (figures.errors / sorted.length) * 100;
  const { cpuPercent, megabytes } = figures;
  const met =
    at(0.95) < goals.p95Ms &&
    errorPercent < goals.errorPercent &&
    megabytes < goals.megabytes &&
    cpuPercent < goals.cpuPercent;
  console.log(
    `${chimechScenario.padEnd(44)} ${tools.join(', ')}: ${sorted.length} calls | p50 ms: ${at(0.5).toFixed(1)} | ` +
      `p95 ms: ${at(0.95).toFixed(1)} | errors: ${errorPercent.toFixed(2)} % | MiB: ${megabytes} | ` +
      `CPU: ${cpuPercent.toFixed(0)} % of a core | goals: ${met ? 'met' : 'missed'}`,
  );
}
