import { expect, test } from 'vitest';
import { atHosts } from './shown-hosts.js';

test.each([
  ['postgres://user:canary@db.internal:5432/signalbox?sslmode=require', ' at db.internal:5432'],
  ['postgres://db/signalbox', ' at db'],
  ['postgres://user:can@ary@[::1]:5433/signalbox', ' at [::1]:5433'],
  ['redis+sentinel://user:canary@one:26379,two:26379/main?sentinel_password=canary', ' at one:26379,two:26379'],
  ['postgres:///signalbox?host=/var/run/postgresql', ''],
  ['postgres://user:1/canary@db/signalbox', ''],
  ['postgres://user:1#canary@db/signalbox', ''],
])('%s is shown as its hosts, or not at all', (url, shown) => {
  expect(atHosts(url)).toBe(shown);
});
