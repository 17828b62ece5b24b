import { describe, expect, test } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
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

  test('what the driver says without a code, and several addresses that refuse', () => {
    expect(isStoreAway(new Error('Connection terminated unexpectedly'))).toBe(true);
    expect(isStoreAway(new Error('Query read timeout'))).toBe(true);
    expect(isStoreAway(new AggregateError([coded('ECONNREFUSED')]))).toBe(true);
    expect(isStoreAway(new Error('a fault of ours'))).toBe(false);
    expect(isStoreAway('text')).toBe(false);
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

  test('ends with the signal', async () => {
    const controller = new AbortController();
    const wait = withinDeadline(10_000, controller.signal, () => new Promise(() => undefined));
    controller.abort(new Error('gone'));
    await expect(wait).rejects.toThrow('gone');
  });
});
