// What the conformance suite needs of a set of backing services, and what its parts share.
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import type { Backing } from '#libs/backing/backing.js';
import { openBacking, type OpenBackingOptions } from '#libs/backing/open-backing.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import type { FaultProxy } from './fault-proxy.js';

/** An empty store of its own, reached through a network that can fail. */
export interface ConformanceStore {
  /** Through `proxy`. */
  options: OpenBackingOptions;
  proxy: FaultProxy;
  /** Connections that carry this name on the server's side. */
  connections(applicationName: string): Promise<number>;
  /** It goes on answering questions, and refuses whatever is written; or takes it again. */
  takeNothing(nothing: boolean): Promise<void>;
  /** Whether anything of the job is there, seen past the backing. */
  keeps(callId: string): Promise<boolean>;
  /** An ended job, as versions did that kept them. */
  leaveEnded(callId: string): Promise<void>;
  drop(): Promise<void>;
}

export type MakeStore = () => Promise<ConformanceStore>;

/** Of a Redis. */
export function keptIn(client: Redis): Pick<ConformanceStore, 'keeps' | 'leaveEnded' | 'takeNothing'> {
  const queue = '{signalbox}:tools';
  return {
    takeNothing: async (nothing) => void (await client.config('SET', 'maxmemory', nothing ? '1' : '0')),
    keeps: async (callId) => (await client.keys(`{signalbox}:*${callId}*`)).length > 0,
    async leaveEnded(callId) {
      await client.hset(`${queue}:${callId}`, { data: '{}', finishedOn: 1 });
      await client.zadd(`${queue}:completed`, 1, callId);
    },
  };
}

export const never = (): AbortSignal => new AbortController().signal;

export function makeJob(given: Partial<ToolJob> = {}): ToolJob {
  return {
    version: 1,
    callId: `call_${randomBytes(16).toString('hex')}`,
    replyTo: 'gateway',
    principal: 'local',
    requestId: 'req_1',
    sessionId: 'sess_1',
    server: 'workspace',
    tool: 'read_file',
    name: 'read_file',
    definitionHash: 'hash',
    arguments: { path: 'a.txt' },
    safe: true,
    priority: 'interactive',
    timeoutMs: 60_000,
    maxTimeoutMs: 600_000,
    deadline: Date.now() + 60_000,
    queuedAt: Date.now(),
    ...given,
  };
}

export async function withBacking(
  options: OpenBackingOptions,
  body: (backing: Backing) => Promise<void>,
): Promise<void> {
  const backing = await openBacking(options);
  try {
    await body(backing);
  } finally {
    await backing.close();
  }
}

export interface SharedStore {
  store: ConformanceStore;
  one: Backing;
  two: Backing;
}

/** For the tests of a group: a store, and what two processes would open on it. */
export function sharedStore(makeStore: MakeStore, more: Partial<OpenBackingOptions> = {}): SharedStore {
  const shared: Partial<SharedStore> = {};
  beforeAll(async () => {
    shared.store = await makeStore();
    const options = { ...shared.store.options, ...more };
    shared.one = await openBacking(options);
    shared.two = await openBacking(options);
  });
  afterAll(async () => {
    await Promise.all([shared.one?.close(), shared.two?.close()]);
    await shared.store?.drop();
  });
  return shared as SharedStore;
}

/** Whether it was accepted. */
export const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

/** Collects what a listener or handler is given, and waits for it without asking again and again. */
export class Collected<Item> {
  readonly items: Item[] = [];
  private readonly waiting = new Set<() => void>();

  readonly add = (item: Item): void => {
    this.items.push(item);
    for (const wake of this.waiting) wake();
  };

  async until(holds: (items: readonly Item[]) => boolean, timeoutMs = 10_000): Promise<void> {
    if (holds(this.items)) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(check);
        reject(new Error(`Not in time: ${JSON.stringify(this.items.slice(-5))} (${this.items.length} in all)`));
      }, timeoutMs);
      const check = () => {
        if (!holds(this.items)) return;
        clearTimeout(timer);
        this.waiting.delete(check);
        resolve();
      };
      this.waiting.add(check);
    });
  }

  count(length: number, timeoutMs?: number): Promise<void> {
    return this.until((items) => items.length >= length, timeoutMs);
  }
}

/** The error that `work` throws, and how long that took. */
export async function failureOf(work: () => Promise<unknown>): Promise<{ error: unknown; ms: number }> {
  const start = performance.now();
  try {
    await work();
  } catch (error) {
    return { error, ms: performance.now() - start };
  }
  throw new Error('It did not fail');
}
