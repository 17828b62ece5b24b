import { describe, expect, test } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
import { isStoreAway, toStoreError } from '#libs/store-error/store-error.js';
import { toRedisError } from './redis-error.js';

const named = (name: string) => Object.assign(new Error('Reached the max retries per request limit'), { name });

describe('what says that Redis is away', () => {
  test.each([
    'Connection is closed.',
    'Command timed out',
    "Stream isn't writeable and enableOfflineQueue options is false",
    'Failed to refresh slots cache.',
    'None of startup nodes is available',
    'All sentinels are unreachable. Retrying from scratch after 10ms.',
    'LOADING Redis is loading the dataset in memory',
    'CLUSTERDOWN Hash slot not served',
    "READONLY You can't write against a read only replica.",
    'MISCONF Redis is configured to save RDB snapshots',
  ])('%s', (message) => {
    const error = toRedisError(new Error(message));
    expect(isStoreAway(error)).toBe(true);
    expect(toStoreError(error)).toMatchObject({ code: 'store_unavailable' });
  });

  test('a driver that gave up', () => {
    expect(isStoreAway(toRedisError(named('MaxRetriesPerRequestError')))).toBe(true);
  });

  test.each(['WRONGTYPE Operation against a key', 'ERR syntax error', 'Missing lock for job 1. moveToFinished'])(
    'not %s',
    (message) => {
      const error = new Error(message);
      expect(toRedisError(error)).toBe(error);
      expect(isStoreAway(error)).toBe(false);
    },
  );

  test('full is judged at once: the next try would find the same', () => {
    const error = toRedisError(
      new Error("OOM command not allowed when used memory > 'maxmemory'. script: 1, on @user:2."),
    );
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ code: 'store_unavailable', message: 'The store is full' });
  });
});
