// Joins what remains of a Signalbox's calls: the journal, the audit, the runs, and the files that the calls wrote. For
// tests that kill and replace processes.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { expect } from 'vitest';
import type { Signalbox } from './services/start-signalbox.js';

type Box = Pick<Signalbox, 'databaseUrl' | 'workspacesDir'>;

/** Expects every server call to end in time, in one state with one matching audit row, and every run to be done. */
export async function expectOneRecordEach(box: Box, withinMs: number): Promise<void> {
  await querying(box, async (query) => {
    const open = () => query("select id, state from tool_calls where kind = 'server' and ended_at is null");
    await expect.poll(open, { timeout: withinMs }).toEqual([]);
    const unaudited = await query(
      `select c.id from tool_calls c left join audit_events a on a.call_id = c.id
       where c.kind = 'server' group by c.id having count(a.id) <> 1`,
    );
    expect(unaudited).toEqual([]);
    const disagreeing = await query(
      'select c.id from tool_calls c join audit_events a on a.call_id = c.id where a.state <> c.state',
    );
    expect(disagreeing).toEqual([]);
    expect(await query("select id, state from runs where state <> 'done'")).toEqual([]);
  });
}

export interface EffectFile {
  session: string;
  path: string;
  /** The lines of the file: one per effect, distinguished by content. */
  effects: string[];
  completed: number;
  /** Calls whose effect is unknown. */
  lost: number;
}

/** The files written by `write_file`, together with the journal's record of the calls. */
export function effectFiles(box: Box): Promise<EffectFile[]> {
  return querying(box, async (query) => {
    const rows = await query<{ session: string; path: string; directory: string; completed: string; lost: string }>(
      `select call.session_id as session, call.arguments->>'path' as path, directory,
              count(*) filter (where state = 'completed') as completed,
              count(*) filter (where state = 'indeterminate') as lost
       from tool_calls call join sessions on sessions.principal = call.principal and sessions.id = call.session_id
       where tool = 'write_file' group by 1, 2, 3`,
    );
    return Promise.all(
      rows.map(async ({ session, path, directory, completed, lost }) => {
        const text = await readFile(join(box.workspacesDir, directory, path), 'utf8').catch(() => '');
        return {
          session,
          path,
          effects: text.split('\n').filter(Boolean),
          completed: Number(completed),
          lost: Number(lost),
        };
      }),
    );
  });
}

/** No effect happened twice; completed calls took effect, and other calls did not unless their outcome is unknown. */
export async function expectEffectsAsRecorded(box: Box): Promise<void> {
  for (const { session, path, effects, completed, lost } of await effectFiles(box)) {
    expect(new Set(effects).size, `${session}/${path}: an unsafe call ran twice`).toBe(effects.length);
    expect(effects.length).toBeGreaterThanOrEqual(completed);
    expect(effects.length).toBeLessThanOrEqual(completed + lost);
  }
}

async function querying<T>(box: Box, work: (query: <Row>(text: string) => Promise<Row[]>) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: box.databaseUrl });
  await client.connect();
  try {
    return await work(async <Row>(text: string) => (await client.query(text)).rows as Row[]);
  } finally {
    await client.end();
  }
}
