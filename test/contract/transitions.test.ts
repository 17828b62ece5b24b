// The transition table against the real store: for every cell a run or call is brought into the state, the event happens, and
// the store has what the cell says.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
import { terminalStates } from '#libs/schemas/tool-outcome.js';
import {
  callTableStates,
  callTable,
  type CallEvent,
  type CallTableState,
} from '../../apps/gateway/turn/advance/call-table.js';
import type { Cell } from '../../apps/gateway/turn/advance/cell.js';
import { runTableStates, runTable, type RunEvent } from '../../apps/gateway/turn/advance/run-table.js';
import { verifies } from '../verifies.js';
import { callEvents } from './transitions/call-events.js';
import { callIn } from './transitions/place-call.js';
import { runEvents, runIn } from './transitions/run-events.js';
import { openStoreWorld, type StoreWorld } from './transitions/store-world.js';

/** Impossible cells that the store cannot refuse. */
const unrefused: Record<string, string> = {
  'run: request with a key, another body × none': 'A first request is not another one: it begins.',
  'run: request with a key, a day later × none': 'A first request begins.',
  'call: refused a place, own call × parked': 'A refusal, which a parked call may end with.',
  'call: refused a place, in a chat × parked': 'A refusal, which a parked call may end with.',
  'call: skipped, the call before it asks × parked': 'A refusal, which a parked call may end with.',
};

let world: StoreWorld;
beforeAll(async () => {
  world = await openStoreWorld();
});
afterAll(() => world?.close());
beforeEach(() => world.reset());

const isTerminal = (state: string): boolean => (terminalStates as readonly string[]).includes(state);

test('every event has a cell for every state, and a way to come about', () => {
  for (const [table, states, events] of [
    [runTable, runTableStates, runEvents],
    [callTable, callTableStates, callEvents],
  ] as const) {
    for (const row of Object.values(table)) expect(Object.keys(row).sort()).toEqual([...states].sort());
    expect(Object.keys(events)).toEqual(Object.keys(table));
  }
  const impossible = Object.entries({ run: runTable, call: callTable }).flatMap(([what, table]) =>
    Object.entries<Record<string, Cell<string>>>(table).flatMap(([event, row]) =>
      Object.keys(row).flatMap((state) => ('impossible' in row[state]! ? `${what}: ${event} × ${state}` : [])),
    ),
  );
  expect(impossible).toEqual(expect.arrayContaining(Object.keys(unrefused)));
});

/** What an event did. */
interface Happened {
  from: string;
  /** In the words of the store. */
  now: string;
  result: unknown;
  error: unknown;
  changed: boolean;
  audits: number;
}

/** `seen`: the state of the run or call in the store. */
async function happens(
  apply: () => Promise<unknown>,
  seen: () => Promise<string>,
  withRuns: boolean,
): Promise<Happened> {
  const [from, before, audits] = [await seen(), await world.rows(withRuns), await world.audits()];
  world.writes.clear();
  let [result, error]: [unknown, unknown] = [undefined, undefined];
  try {
    result = await apply();
  } catch (thrown) {
    error = thrown;
  }
  const written = [...world.writes];
  const now = await seen();
  const changed = JSON.stringify(await world.rows(withRuns)) !== JSON.stringify(before);
  world.writes.clear();
  for (const write of written) world.writes.add(write);
  return { from, now, result, error, changed, audits: (await world.audits()) - audits };
}

const refusedAs = (result: unknown): boolean => !result || (Array.isArray(result) && result.length === 0);

function judge(name: string, cell: Cell<string>, { from, now, result, error, changed, audits }: Happened): void {
  if ('impossible' in cell) {
    if (name in unrefused) return;
    const refused = error instanceof AppError || refusedAs(result);
    expect({ refused, now, changed, audits }, name).toEqual({ refused: true, now: from, changed: false, audits: 0 });
    return;
  }
  const code = error instanceof AppError ? error.code : error;
  if ('ignored' in cell) {
    const reported = code === undefined || code === 'store_unavailable' ? cell.emit : code;
    expect({ reported, now, changed, audits }, name).toEqual({
      reported: cell.emit,
      now: from,
      changed: false,
      audits: 0,
    });
    return;
  }
  const ends = isTerminal(cell.next) && !isTerminal(from) && name.startsWith('call');
  // A question that nobody answers has a row of its own, too.
  const answers = cell.write.filter(
    (write) => write === 'waits.decide' || (write === 'waits.close' && cell.next === 'same'),
  ).length;
  const next = cell.next === 'same' ? from : cell.next;
  const expected = { code: undefined, now: next, changed: true, audits: answers + (ends ? 1 : 0) };
  expect({ code, now, changed, audits }, name).toEqual(expected);
  expect([...world.writes], name).toEqual(expect.arrayContaining([...cell.write]));
}

for (const event of Object.keys(runTable) as RunEvent[]) {
  verifies('transitions.run', event, async () => {
    for (const state of runTableStates) {
      await world.reset();
      const { facts = {}, before, apply } = runEvents[event];
      const run = await runIn(state, facts, world);
      const stored = () => world.runs.get(run.principal, run.id);
      await before?.(run, world);
      const seen = async () => (await stored())?.state ?? 'none';
      const happened = await happens(() => apply(run, world, state), seen, true);
      expect(happened.from, `${event} × ${state}`).toBe(state);
      const cell: Cell<string> = runTable[event][state];
      judge(`run: ${event} × ${state}`, cell, happened);
      const { code } = ((await stored())?.error ?? {}) as { code?: string };
      if ('write' in cell && cell.next === 'failed' && cell.emit !== 'error') expect(code, event).toBe(cell.emit);
    }
  });
}

for (const event of Object.keys(callTable) as CallEvent[]) {
  verifies('transitions.call', event, async () => {
    for (const state of callTableStates) {
      await world.reset();
      const { facts = {}, before, apply } = callEvents[event];
      const placed = await callIn(state, facts, world);
      await before?.(placed, world);
      const { id } = placed.call;
      const seen = async () => {
        const call = await world.journal.get(id);
        const approved = call?.state === 'parked' && (await world.waitStore.get(call.waitId!))?.state === 'approved';
        return approved ? 'approved' : (call?.state ?? 'none');
      };
      const happened = await happens(() => apply(placed, world, state), seen, false);
      expect(isTerminal(happened.from) ? 'ended' : happened.from, `${event} × ${state}`).toBe(
        state satisfies CallTableState,
      );
      const cell: Cell<string> = callTable[event][state];
      judge(`call: ${event} × ${state}`, cell, happened);
      if (!('write' in cell) || !isTerminal(cell.next)) continue;
      const { outcome } = (await world.journal.get(id))!;
      expect(outcome?.error?.code ?? 'tool_result', event).toBe(cell.emit);
    }
  });
}
