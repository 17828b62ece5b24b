import { describe, expect, test } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
import { toRedisError } from '../backing/redis/redis-error.js';
import { retryWhileAway } from '../backing/retry-while-away.js';
import { isStoreAway, toStoreError, withinDeadline } from './store-error.js';

const coded = (code: string) => Object.assign(new Error('at 10.0.0.1'), { code });

describe('what says that a store is away', () => {
  test.each(['ECONNREFUSED', 'ECONNRESET', '57P01', '57P03', '57014', '08006', '53300', '53100', '40P01', '25006'])(
    '%s',
    (code) => {
      expect(isStoreAway(coded(code))).toBe(true);
      const shown = toStoreError(coded(code));
      expect(shown).toMatchObject({ code: 'store_unavailable', http: 503, retryAfterSeconds: 1 });
      expect((shown as AppError).message).not.toContain('10.0.0.1');
    },
  );

  test.each(['23505', '42P01', '22P05', 'BM001', 'ERR_INVALID_ARG_TYPE'])('not %s', (code) => {
    expect(isStoreAway(coded(code))).toBe(false);
    expect(toStoreError(coded(code))).toMatchObject({ code });
  });

  test('one that is full is called so', () => {
    const full = { code: 'store_unavailable', message: 'The store is full' };
    expect(toStoreError(coded('53100'))).toMatchObject(full);
    const answer = new Error("OOM command not allowed when used memory > 'maxmemory'.");
    expect(toStoreError(toRedisError(answer))).toMatchObject(full);
  });

  test('one that answers is not called unreachable', () => {
    const refusal = toRedisError(new Error('MISCONF Redis is configured to save RDB snapshots to /data'));
    const shown = { code: 'store_unavailable', message: 'The store cannot serve now (MISCONF)' };
    expect(isStoreAway(refusal)).toBe(true);
    expect(toStoreError(refusal)).toMatchObject(shown);
  });

  test('what the driver says without a code, and several addresses that refuse', () => {
    expect(isStoreAway(new Error('Connection terminated unexpectedly'))).toBe(true);
    expect(isStoreAway(new Error('Query read timeout'))).toBe(true);
    // Of a connection outside a pool that was taken and got no answer.
    expect(isStoreAway(new Error('timeout expired'))).toBe(true);
    expect(isStoreAway(new AggregateError([coded('ECONNREFUSED')]))).toBe(true);
    expect(isStoreAway(new Error('a fault of ours'))).toBe(false);
    expect(isStoreAway('text')).toBe(false);
  });
});

describe('a step is tried again', () => {
  const bounds = { timeoutMs: 160, signal: new AbortController().signal };
  /** Fails like this for three times as long as the store may be silent; somebody is answered all the while. */
  const tried = (failure: Error) => {
    const store = { answeredAt: 0 };
    const begunAt = performance.now();
    return retryWhileAway(store, bounds, async () => {
      store.answeredAt = performance.now();
      if (store.answeredAt - begunAt < 3 * bounds.timeoutMs) throw failure;
      return 'taken';
    });
  };

  test('and knows that it is: the one before may have happened', async () => {
    const steps: boolean[] = [];
    await retryWhileAway({ answeredAt: 0 }, bounds, async (isRetry) => {
      if (steps.push(isRetry) < 3) throw coded('ECONNRESET');
    });
    expect(steps).toEqual([false, true, true]);
  });

  test.each(['timeout exceeded when trying to connect', 'Query read timeout', 'Command timed out'])(
    'while others are answered: %s',
    async (message) => {
      expect(await tried(toRedisError(new Error(message)) as Error)).toBe('taken');
    },
  );

  test('but not for longer than its time where the store has answered no', async () => {
    await expect(tried(coded('53100'))).rejects.toMatchObject({ code: 'store_unavailable' });
  });
});

describe('a deadline', () => {
  test('ends a wait for ever', async () => {
    await expect(withinDeadline(20, undefined, () => new Promise(() => undefined))).rejects.toMatchObject({
      code: 'store_unavailable',
    });
  });

  test('starts nothing once the signal has aborted, and tells its reason', async () => {
    let started = false;
    const work = async () => {
      started = true;
    };
    await expect(withinDeadline(1_000, AbortSignal.abort(new Error('gone')), work)).rejects.toThrow('gone');
    expect(started).toBe(false);
  });

  test('a signal that is a time limit is one', async () => {
    const wait = withinDeadline(10_000, AbortSignal.timeout(20), () => new Promise(() => undefined));
    await expect(wait).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  test('is so long without an answer to anybody', async () => {
    const store = { answeredAt: 0 };
    let given = false;
    const wait = withinDeadline({ timeoutMs: 200, store }, undefined, () => new Promise(() => undefined)).finally(
      () => (given = true),
    );
    const begunAt = performance.now();
    while (performance.now() - begunAt < 500) {
      store.answeredAt = performance.now();
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(given).toBe(false);
    }
    await expect(wait).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  test('that is over while the process stood still is no reason to miss what came meanwhile', async () => {
    const { port1, port2 } = new MessageChannel();
    const answer = new Promise((resolve) => port2.once('message', resolve));
    // From here the event loop comes to its timers before it reads anything.
    await new Promise((resolve) => setImmediate(resolve));
    const wait = withinDeadline(20, undefined, () => answer);
    port1.postMessage('here');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    expect(await wait).toBe('here');
    port1.close();
  });

  test('ends with the signal', async () => {
    const controller = new AbortController();
    const wait = withinDeadline(10_000, controller.signal, () => new Promise(() => undefined));
    controller.abort(new Error('gone'));
    await expect(wait).rejects.toThrow('gone');
  });
});
