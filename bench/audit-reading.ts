// What reading the audit costs when it is long: pages by session, tool and time among a million rows, and verifying all of them.
import { AuditLog, type AuditFilter } from '#libs/audit/audit-log.js';
import { verifyAudit } from '#libs/audit/chain/verify-audit.js';
import { openDatabase } from '#libs/postgres/open-database.js';
import type { System } from './system.js';

export const auditReadingScenario = 'audit pages and verification';

const pages = 200;
const goal = { maxPageMs: 50, minVerifiedPerSecond: 100_000 };
const minuteMs = 60_000;

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
