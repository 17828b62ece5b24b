import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/verifies.js';
import { parseRedisUrl } from './redis-url.js';

describe('addresses of Redis', () => {
  test.each([
    ['redis://127.0.0.1', { kind: 'server', tls: false, node: { host: '127.0.0.1', port: 6379 }, database: 0 }],
    [
      'redis://:p%40ss@redis:6380/3',
      { kind: 'server', password: 'p@ss', node: { host: 'redis', port: 6380 }, database: 3 },
    ],
    ['rediss://user:pass@[::1]:7000', { tls: true, username: 'user', node: { host: '::1', port: 7000 } }],
    [
      'redis+sentinel://user:pass@a,b:26380/mymaster/2?sentinel_password=s%26t',
      {
        kind: 'sentinel',
        sentinels: [
          { host: 'a', port: 26_379 },
          { host: 'b', port: 26_380 },
        ],
        name: 'mymaster',
        database: 2,
        username: 'user',
        password: 'pass',
        sentinelPassword: 's&t',
      },
    ],
    [
      'rediss+cluster://:pass@a:1,b:2',
      {
        kind: 'cluster',
        tls: true,
        nodes: [
          { host: 'a', port: 1 },
          { host: 'b', port: 2 },
        ],
      },
    ],
  ])('%s', (url, target) => {
    expect(parseRedisUrl(url)).toMatchObject(target);
  });

  verifies('operations.redis-url', 'what is wrong is said without the password', () => {
    const wrong = [
      'http://u:canary-secret@h',
      'redis://u:canary-secret@',
      'redis://u:canary-secret@h:70000',
      'redis://u:canary-secret@a,b',
      'redis://u:canary-secret@h/zero',
      'redis://u:canary-secret@h/0?tls=1',
      'redis://u:canary-secret%@h',
      'redis://u:canary/secret@h',
      'redis+sentinel://u:canary-secret@a,b',
      'redis+cluster://u:canary-secret@a,b/1',
      'canary-secret',
    ];
    for (const url of wrong) {
      let message = '';
      try {
        parseRedisUrl(url);
      } catch (error) {
        message = (error as Error).message;
      }
      expect(message, url).not.toBe('');
      expect(message, url).not.toMatch(/canary|secret@/);
    }
  });
});
