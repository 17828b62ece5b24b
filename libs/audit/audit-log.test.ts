import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AuditedDatabase, openAuditedDatabase } from '../../test/support/audited-database.js';
import { verifies } from '../../test/verifies.js';
import { type AuditFilter, AuditLog, auditMembers, shownAuditEvent } from './audit-log.js';
import { csvField, exportAudit } from './export-audit.js';

let audited: AuditedDatabase;
let log: AuditLog;
const start = Date.UTC(2026, 10, 1);
const at = (second: number) => new Date(start + second * 1_000);

describe('reading the audit', () => {
  beforeAll(async () => {
    audited = await openAuditedDatabase();
    log = new AuditLog(audited.database);
    // As many as an index is worth using for: 60,000 of others, and a few that are looked for.
    await audited.sql(
      `insert into audit_events (id, at, kind, request_id, principal, session_id, server, tool, name, arguments, result,
         success, state)
       select gen_random_uuid(), $1::timestamptz + n * interval '1 second', 'tool_call', 'req', 'user-' || n % 50,
         'session-' || n % 2000, 'workspace', 'tool-' || n % 20, 'tool', '{"path":"notes"}', 'ok', true, 'completed'
       from generate_series(1, 60000) n`,
      at(0),
    );
    for (const [second, members] of [
      [10, { sessionId: 'rare', tool: 'write', server: 'files', principal: 'alice', success: false, state: 'failed' }],
      [59_000, { sessionId: 'rare', tool: 'write', server: 'files', principal: 'alice', errorCode: 'tool_failed' }],
      [59_001, { sessionId: 'rare', tool: 'write', server: 'other', principal: 'bob', arguments: '{"50%_Off":1}' }],
    ] as const) {
      await audited.write(1, { at: at(second), kind: 'tool_call', ...members });
    }
    await audited.sql('analyze audit_events');
  }, 60_000);
  afterAll(() => audited.close());

  const all = async (filter: AuditFilter) => {
    const rows = [];
    for await (const row of log.all(filter, new AbortController().signal)) rows.push(row);
    return rows.map((row) => (row.at.getTime() - start) / 1_000);
  };

  verifies('audit.pages', 'by each filter', async () => {
    expect(await all({ session: 'rare' })).toEqual([59_001, 59_000, 10]);
    expect(await all({ tool: 'files/write' })).toEqual([59_000, 10]);
    expect(await all({ tool: 'write' })).toHaveLength(3);
    expect(await all({ principal: 'bob' })).toEqual([59_001]);
    expect(await all({ session: 'rare', since: at(10), until: at(59_001) })).toEqual([59_000, 10]);
    expect(await all({ outcome: 'failure' })).toEqual([10]);
    expect(await all({ outcome: 'failed' })).toEqual([10]);
    expect(await all({ outcome: 'tool_failed' })).toEqual([59_000]);
    expect(await all({ text: '50%_off' })).toEqual([59_001]);
    expect(await all({ text: '50__off' })).toEqual([]);
    expect(await all({ session: "x' or true --" })).toEqual([]);
    expect(await all({ session: 'nobody\0' })).toEqual([]);
  });

  verifies('audit.pages', 'page by page, each row once, newest first', async () => {
    const seen: string[] = [];
    const times: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await log.page({ principal: 'user-7' }, 100, cursor);
      seen.push(...page.rows.map(({ id }) => id));
      times.push(...page.rows.map((row) => row.at.getTime()));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen).toHaveLength(1_200);
    expect(new Set(seen).size).toBe(1_200);
    expect(times).toEqual([...times].sort((left, right) => right - left));
  });

  test('a cursor that is none', async () => {
    for (const cursor of ['x', '', Buffer.from('2026-11-24T00:00:00.000Z nothing').toString('base64url')]) {
      await expect(log.page({}, 10, cursor)).rejects.toMatchObject({ code: 'invalid_value', param: 'cursor' });
    }
  });

  verifies('audit.bounded-reading', 'a text that is rare makes short pages', async () => {
    const page = await log.page({ text: 'nowhere' }, 10);
    expect(page.rows).toEqual([]);
    expect(page.cursor).toBeDefined();
    const next = await log.page({ text: '50%' }, 10);
    expect(next.rows).toHaveLength(1);
  });

  const planOf = async (where: string, ...values: unknown[]) => {
    const explained = await audited.database.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, timing off, summary off)
       select * from audit_events where ${where} order by at desc, id desc limit 101`,
      values,
    );
    return explained.map((row) => row['QUERY PLAN']).join('\n');
  };

  for (const [what, where, index, value] of [
    ['a session', 'session_id = $1', /session_id_at_idx/, 'rare'],
    ['a tool', 'tool = $1', /tool_at_idx/, 'write'],
    ['a principal', 'principal = $1', /principal_at_idx/, 'alice'],
    ['a time', 'at < $1::timestamptz', /_pkey/, at(30_000)],
  ] as const) {
    verifies('audit.bounded-reading', `${what} by its index`, async () => {
      const plan = await planOf(where, value);
      expect(plan).toMatch(index);
      expect(plan).not.toMatch(/Seq Scan on audit_events_2026_11/);
      expect(plan).not.toMatch(/Rows Removed by Filter: \d{4}/);
    });
  }

  verifies('audit.export', 'NDJSON and CSV', async () => {
    const text = async (format: 'ndjson' | 'csv') => {
      let whole = '';
      const rows = log.all({ session: 'rare' }, new AbortController().signal, 2);
      for await (const part of exportAudit(rows, format)) whole += part;
      return whole;
    };
    const lines = (await text('ndjson'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatchObject({
      tool: 'write',
      arguments: '{"50%_Off":1}',
      position: 3,
      hash: expect.stringMatching(/^03[\da-f]{64}$/) as unknown,
    });
    const csv = (await text('csv')).split('\r\n');
    expect(csv[0]).toBe(auditMembers.join(','));
    expect(csv[1]).toContain('"{""50%_Off"":1}"');
    expect(csv).toHaveLength(5);
  });

  verifies('audit.export', 'a reader who has gone ends the reading', async () => {
    const gone = new AbortController();
    const rows = log.all({}, gone.signal, 10);
    await rows.next();
    gone.abort(new Error('gone'));
    const rest = async () => {
      for await (const row of rows) expect(shownAuditEvent(row)).toBeDefined();
    };
    await expect(rest()).rejects.toThrow('gone');
  });
});

verifies('audit.csv-safe', 'formulas, quotes and line breaks', () => {
  for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', ' =1', '\n=1']) {
    expect(csvField(text).replace(/^"/, '')).toMatch(/^'/);
  }
  expect(csvField('a,"b"\nc')).toBe('"a,""b""\nc"');
  expect([csvField(-1.5), csvField(null), csvField(true), csvField('plain')]).toEqual(['-1.5', '', 'true', 'plain']);
});
