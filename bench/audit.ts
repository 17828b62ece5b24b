// What a row of the audit costs: planned calls are ended by the journal, each with its row in the same statement, as a worker
// ends safe ones; then as many without the audit. It writes as a process does: same parts, same group commit. And what reading
// it costs when it is long: pages by session, tool and time among a million rows, and verifying all of them.
import pg from 'pg';
import { AuditLog, type AuditFilter } from '#libs/audit/audit-log.js';
import { verifyAudit } from '#libs/audit/chain/verify-audit.js';
import { openDatabase } from '#libs/postgres/open-database.js';
import { PostgresJournal } from '#libs/runs/postgres-journal.js';
import { StoreWrites } from '#libs/runs/store-writes.js';
import { mintCallId } from '#libs/schemas/identifiers.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { cpuMsOfTree } from './processes.js';
import type { System } from './system.js';

export const auditScenario = 'audit rows, 512 in flight';
export const auditReadingScenario = 'audit pages and verification';

const inFlight = 512;
const warmRows = 2_000;
const goal = { minPerSecond: 50_000, maxMicros: 10, maxPageMs: 50, minVerifiedPerSecond: 100_000 };
const pages = 200;
const minuteMs = 60_000;
const principal = 'bench-audit';
const context = { requestId: 'req_bench', ip: '127.0.0.1', model: 'bench/model' };
const outcome: ToolOutcome = {
  state: 'completed',
  blocks: [{ type: 'text', text: 'It is Thursday, the first of January 2026, eight in the morning.' }],
  durationMs: 12,
  queueWaitMs: 3,
};

interface Cost {
  perSecond: number;
  writerMicros: number;
  postgresMicros: number;
}

/** Prints the figures. Returns how many calls there are more in the store, each with its row. */
export async function measureAuditRows(
  { databaseUrl, postgresPid }: Pick<System, 'databaseUrl' | 'postgresPid'>,
  rows: number,
): Promise<number> {
  const audited = await costOf({ databaseUrl, postgresPid, rows, audit: true });
  const bare = await costOf({ databaseUrl, postgresPid, rows, audit: false });
  // Calls without a row would be missed by whoever compares the two.
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('delete from tool_calls where principal = $1 and server = $2', [principal, 'unaudited']);
  } finally {
    await client.end();
  }
  print(audited, bare);
  return warmRows + rows;
}

interface Writing {
  databaseUrl: string;
  postgresPid: number;
  rows: number;
  audit: boolean;
}

async function costOf({ databaseUrl, postgresPid, rows, audit }: Writing): Promise<Cost> {
  const database = openDatabase({ url: databaseUrl, poolSize: 8, timeoutMs: 30_000, applicationName: 'bench-audit' });
  try {
    const journal = new PostgresJournal(database, new StoreWrites(database, { audit }));
    const server = audit ? 'bench' : 'unaudited';
    const planned = await plan(journal, warmRows + rows, server);
    await endAll(journal, planned.splice(0, warmRows));
    const [cpuBefore, postgresBefore, began] = [process.cpuUsage(), cpuMsOfTree(postgresPid), performance.now()];
    await endAll(journal, planned);
    const elapsedMs = performance.now() - began;
    const { user, system } = process.cpuUsage(cpuBefore);
    return {
      perSecond: (rows * 1_000) / elapsedMs,
      writerMicros: (user + system) / rows,
      postgresMicros: ((cpuMsOfTree(postgresPid) - postgresBefore) * 1_000) / rows,
    };
  } finally {
    await database.close();
  }
}

async function plan(journal: PostgresJournal, calls: number, server: string): Promise<string[]> {
  const ids = Array.from({ length: calls }, () => mintCallId(true));
  await atOnce(ids, (id) =>
    journal.plan(
      {
        id,
        kind: 'server',
        principal,
        sessionId: 'bench',
        name: 'get_time',
        server,
        tool: 'get_time',
        definitionHash: 'none',
        arguments: { offset_ms: -86_400_000, format: 'iso' },
        safe: true,
      },
      context,
    ),
  );
  return ids;
}

function endAll(journal: PostgresJournal, callIds: readonly string[]): Promise<void> {
  return atOnce(callIds, async (callId) => {
    const written = await journal.end({ ...context, callId, worker: 'bench', isolation: 'confined', outcome });
    if (!written) throw new Error('a planned call could not be ended');
  });
}

async function atOnce<T>(items: readonly T[], one: (item: T) => Promise<unknown>): Promise<void> {
  let next = 0;
  const again = async () => {
    while (next < items.length) await one(items[next++]!);
  };
  await Promise.all(Array.from({ length: inFlight }, again));
}

function print(audited: Cost, bare: Cost): void {
  const cpu = ({ writerMicros, postgresMicros }: Cost) => writerMicros + postgresMicros;
  const row = cpu(audited) - cpu(bare);
  const figures = {
    'per second': `${Math.round(audited.perSecond)} rows`,
    'writer µs': audited.writerMicros.toFixed(1),
    'postgres µs': audited.postgresMicros.toFixed(1),
    'without audit':
      `${Math.round(bare.perSecond)} calls, ${bare.writerMicros.toFixed(1)} µs, ` +
      `${bare.postgresMicros.toFixed(1)} µs`,
    'a row µs': row.toFixed(1),
    goal:
      `≥ ${goal.minPerSecond}/s: ${audited.perSecond >= goal.minPerSecond ? 'met' : 'missed'}, ` +
      `a row ≤ ${goal.maxMicros} µs: ${row <= goal.maxMicros ? 'met' : 'missed'}`,
  };
  const members = Object.entries(figures).map(([name, value]) => `${name}: ${value}`);
  console.log(`${auditScenario.padEnd(44)} ${members.join(' | ')}`);
}

/** Prints the figures. Its rows are failures, which nobody takes for calls of the bench. */
export async function measureAuditReading({ databaseUrl }: Pick<System, 'databaseUrl'>, rows: number): Promise<void> {
  const database = openDatabase({
    url: databaseUrl,
    poolSize: 1,
    timeoutMs: 10 * minuteMs,
    applicationName: 'bench-audit-reading',
  });
  try {
    await database.query(fill, [rows]);
    await database.query('/* bench.analyze */ analyze audit_events', []);
    const log = new AuditLog(database);
    const now = Date.now();
    const cases: Record<string, (n: number) => AuditFilter> = {
      session: (n) => ({ session: `bench-session-${n}` }),
      tool: (n) => ({ tool: `bench/tool-${n % 100}` }),
      time: (n) => ({ until: new Date(now - n * minuteMs) }),
    };
    const members: string[] = [];
    let slowest = 0;
    for (const [name, filterOf] of Object.entries(cases)) {
      const times: number[] = [];
      for (let n = 0; n < pages; n += 1) {
        const began = performance.now();
        await log.page(filterOf(n), 100);
        times.push(performance.now() - began);
      }
      times.sort((left, right) => left - right);
      const p99 = times[Math.floor(pages * 0.99)]!;
      slowest = Math.max(slowest, p99);
      members.push(`page by ${name} ms: p50 ${times[pages / 2]!.toFixed(1)}, p99 ${p99.toFixed(1)}`);
    }
    const began = performance.now();
    const verified = await verifyAudit(database);
    const perSecond = (verified.rows * 1_000) / (performance.now() - began);
    if (verified.breaks.length + verified.problems.length > 0)
      throw new Error('the audit of the bench does not verify');
    members.push(
      `verified: ${verified.rows} rows, ${Math.round(perSecond)}/s`,
      `goal: a page ≤ ${goal.maxPageMs} ms: ${slowest <= goal.maxPageMs ? 'met' : 'missed'}, ` +
        `≥ ${goal.minVerifiedPerSecond}/s: ${perSecond >= goal.minVerifiedPerSecond ? 'met' : 'missed'}`,
    );
    console.log(`${auditReadingScenario.padEnd(44)} ${members.join(' | ')}`);
  } finally {
    await database.close();
  }
}

/** As the bench's calls, of one each tenth of a second until now. */
const fill = `/* bench.audit-rows */ insert into audit_events (id, at, kind, call_id, request_id, principal, ip, session_id, model,
    server, tool, name, definition_hash, arguments, result, arguments_digest, result_digest, success, state, error_code,
    duration_ms, queue_wait_ms, attempt, cached, isolation, worker)
  select gen_random_uuid(), clock_timestamp() - ($1::int - n) * interval '100 ms', 'tool_call', 'bench_' || n, 'req_bench',
    'bench-' || n % 1000, '127.0.0.1', 'bench-session-' || n % 10000, 'bench/model', 'bench', 'tool-' || n % 100, 'tool', 'none',
    '{"offset_ms":-86400000,"format":"iso"}',
    '{"blocks":[{"type":"text","text":"It is Thursday, the first of January 2026, eight in the morning."}]}',
    repeat('a', 64), repeat('b', 64), false, 'failed', 'tool_failed', 12, 3, 1, false, 'confined', 'bench'
  from generate_series(1, $1::int) n`;
