import { expect, test } from 'vitest';
import { AddressGuard, isPublicAddress } from './address-guard.js';

test('the edges of the closed networks', () => {
  const open = ['172.15.255.255', '172.32.0.0', '8.8.8.8', '100.63.0.0', '2606:4700::1111'];
  expect(open.filter(isPublicAddress)).toEqual(open);
  expect(['172.16.0.0', '100.127.0.0', '198.19.0.0', 'fe80::1%eth0', '', 'x'].filter(isPublicAddress)).toEqual([]);
});

test('an entry that is no host and no network is refused at the start', () => {
  expect(() => new AddressGuard(['nonsense/8'])).toThrow(/nonsense/);
  expect(() => new AddressGuard(['10.0.0.0/99'])).toThrow();
});
