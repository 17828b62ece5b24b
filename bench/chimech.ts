// Chimech at its targets: 50 calls a second, begun on time whatever the earlier ones take, with a model that answers at once
// behind the gateway, texts of the size that people send (10 to 50 kB), and the pages of docs/ as its knowledge base. What it
// holds is looked at all the while.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Pool } from 'undici';
import { builtProgram, installedPath } from '#libs/process/find-installed.js';
import { cpuMs, residentMegabytes, startService } from './processes.js';
import type { System } from './system.js';

export const chimechScenario = 'chimech, 50 calls a second';

const perSecond = 50;
const lookMs = 100;
const goals = { p95Ms: 200, errorPercent: 0.1, megabytes: 100, cpuPercent: 50 };

interface Call {
  name: string;
  arguments: object;
}

const kilobyte = 1_024;
const pages = filesOf('docs', '.md').join('\n\n');
const sources = filesOf('apps/gateway/turn', '.ts');
const chinese = [
  '人工智能正在改变我们的生活和工作方式。',
  '机器学习算法从大量数据中学习规律，并用于预测。',
  '公司第三季度营收增长百分之十二，欧洲市场持平。',
  '研究人员发现，充足的睡眠有助于提高记忆力。',
  '请各部门在月底之前提交预算方案和招聘计划。',
  '长江流经十一个省份，全长六千三百多公里。',
  '用户反馈显示，新版本的响应速度明显提升。',
];
const regions = ['EMEA', 'APAC', 'AMER'];
const sought = ['policy rules of a tool', '"tool server"', 'memory of a worker', 'revoked keys', 'approval webhook'];

const call = (tool: string, args: object): Call => ({ name: `chimech/${tool}`, arguments: args });

const ask = (number: number): Call =>
  call('query', { question: `What does it say about number ${number}?`, context: english(number, sizeOf(number)) });

const search = (number: number): Call => call('search', { query: sought[number % sought.length] });

function analysis(number: number): Call {
  const size = sizeOf(number);
  switch (Math.floor(number / 5) % 4) {
    case 0:
      return call('analyze', { type: 'text', content: english(number, size), options: { format: 'detailed' } });
    case 1:
      return call('analyze', { type: 'text', content: repeated((at) => chinese[(at * 5 + number) % 7]!, size / 3) });
    case 2:
      return call('analyze', { type: 'code', content: `${sources[number % sources.length]}\n// ${number}\n` });
    default:
      return call('analyze', { type: 'data', content: `id,name,amount,region\n${repeated(rowOf, size)}` });
  }
}

/** A piece of the pages of docs/. */
function english(number: number, kilobytes: number): string {
  const start = (number * 7_919) % (pages.length - kilobytes * kilobyte);
  return pages.slice(start, start + kilobytes * kilobyte);
}

/** 10 to 50 kB. */
const sizeOf = (number: number): number => 10 + ((number * 13) % 41);

const rowOf = (at: number): string => `${at},customer ${at % 97},${((at * 37) % 10_007) / 100},${regions[at % 3]}\n`;

/** So many kilocharacters. */
function repeated(piece: (at: number) => string, kilocharacters: number): string {
  let text = '';
  for (let at = 0; text.length < kilocharacters * kilobyte; at++) text += piece(at);
  return text;
}

function filesOf(directory: string, end: string): string[] {
  const path = installedPath(directory);
  const names = readdirSync(path).filter((name) => name.endsWith(end) && !name.endsWith('.test.ts'));
  return names.map((name) => readFileSync(`${path}/${name}`, 'utf8'));
}

/** Of ten calls four ask, one writes, three search and two analyse: in turn English, Chinese, code and data. */
const round: readonly ((number: number) => Call)[] = [
  ask,
  search,
  ask,
  analysis,
  search,
  ask,
  (number) => call('generate', { prompt: `A note about ${english(number, 2)}`, options: { length: 'short' } }),
  search,
  ask,
  analysis,
];

/** `forMs` of load, after a tenth of it that does not count. */
export async function measureChimech(
  { gateway, databaseUrl }: Pick<System, 'gateway' | 'databaseUrl'>,
  forMs: number,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-bench-chimech-'));
  await importDocs(databaseUrl);
  const chimech = await startService({
    app: 'chimech',
    environment: {
      CHIMECH_GATEWAY_URL: gateway.url,
      DATABASE_URL: databaseUrl,
      MAX_REQUESTS_PER_MINUTE: '1000000',
    },
    directory,
    home: directory,
    profile: false,
  });
  const pool = new Pool(chimech.url, { connections: 64 });
  const begin = async (params: Call) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const answer = await pool.request({ method: 'POST', path: '/mcp', headers, body });
    return (await answer.body.json()) as { result?: { isError?: boolean } };
  };
  const held: number[] = [];
  let looking: NodeJS.Timeout | undefined;
  try {
    let number = 0;
    const next = () => begin(round[number++ % round.length]!(number));
    await load(next, forMs / 10);
    looking = setInterval(() => held.push(residentMegabytes(chimech.pid)), lookMs);
    const [cpuBefore, began] = [cpuMs(chimech.pid), performance.now()];
    const { took, errors } = await load(next, forMs);
    const cpuPercent = ((cpuMs(chimech.pid) - cpuBefore) / (performance.now() - began)) * 100;
    held.push(residentMegabytes(chimech.pid));
    print({ took, errors, cpuPercent, held });
  } finally {
    clearInterval(looking);
    await pool.close();
    await chimech.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function importDocs(databaseUrl: string): Promise<void> {
  const importer = fileURLToPath(builtProgram('scripts/kb-import.js'));
  await promisify(execFile)(process.execPath, [importer, installedPath('docs')], {
    env: { ...process.env, DATABASE_URL: databaseUrl },
  });
}

interface Loaded {
  took: number[];
  errors: number;
}

async function load(begin: () => Promise<{ result?: { isError?: boolean } }>, forMs: number): Promise<Loaded> {
  const loaded: Loaded = { took: [], errors: 0 };
  const running: Promise<void>[] = [];
  const began = performance.now();
  for (let begun = 0; begun < (forMs / 1_000) * perSecond; begun += 1) {
    const due = began + (begun * 1_000) / perSecond;
    await delay(Math.max(0, due - performance.now()));
    running.push(one(begin, due, loaded));
  }
  await Promise.all(running);
  return loaded;
}

/** Timed from the moment that it was due. */
async function one(begin: () => Promise<{ result?: { isError?: boolean } }>, due: number, loaded: Loaded) {
  try {
    const { result } = await begin();
    if (result === undefined || result.isError === true) loaded.errors += 1;
  } catch {
    loaded.errors += 1;
  }
  loaded.took.push(performance.now() - due);
}

function print({ took, errors, cpuPercent, held }: Loaded & { cpuPercent: number; held: number[] }): void {
  const times = took.sort((left, right) => left - right);
  const sizes = held.sort((left, right) => left - right);
  const errorPercent = (errors / times.length) * 100;
  const megabytes = at(sizes, 1);
  const met =
    at(times, 0.95) < goals.p95Ms &&
    errorPercent < goals.errorPercent &&
    megabytes < goals.megabytes &&
    cpuPercent < goals.cpuPercent;
  console.log(
    `${chimechScenario.padEnd(44)} ${times.length} calls | p50 ms: ${at(times, 0.5).toFixed(1)} | ` +
      `p95 ms: ${at(times, 0.95).toFixed(1)} | errors: ${errorPercent.toFixed(2)} % | MiB under load: ` +
      `${at(sizes, 0.5)}, at most ${megabytes} | CPU: ${cpuPercent.toFixed(0)} % of a core | goals: ${met ? 'met' : 'missed'}`,
  );
}

const at = (sorted: readonly number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
