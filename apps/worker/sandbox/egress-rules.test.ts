import { expect, test } from 'vitest';
import { readAllowedHost, readHostPort } from '#libs/config/addresses/host-name.js';
import { verifies } from '../../../test/verifies.js';
import { EgressRules } from './egress-rules.js';

const allows = (allow: string[], asked: string) => {
  const read = readHostPort(asked)!;
  return new EgressRules(allow).allows({ host: read.host, port: read.port! });
};

verifies('tools.egress-guarded', 'which names an entry means', () => {
  const cases: [entry: string, asked: string, allowed: boolean][] = [
    ['api.github.com', 'api.github.com:443', true],
    ['api.github.com', 'api.github.com:80', true],
    ['api.github.com', 'api.github.com:22', false],
    ['api.github.com:22', 'api.github.com:22', true],
    ['api.github.com:22', 'api.github.com:443', false],
    ['api.github.com', 'github.com:443', false],
    ['api.github.com', 'x.api.github.com:443', false],
    ['api.github.com', 'api.github.com.evil.example:443', false],
    ['API.GitHub.com.', 'api.github.COM.:443', true],
    ['*.npmjs.org', 'registry.npmjs.org:443', true],
    ['*.npmjs.org', 'a.b.npmjs.org:443', true],
    ['*.npmjs.org', 'npmjs.org:443', false],
    ['*.npmjs.org', 'evilnpmjs.org:443', false],
    ['*.npmjs.org:8443', 'registry.npmjs.org:8443', true],
    ['bücher.example', 'xn--bcher-kva.example:443', true],
    ['xn--bcher-kva.example', 'BÜCHER.example:443', true],
    ['192.0.2.7', '192.0.2.7:443', true],
    ['192.0.2.7', '0xc0000207:443', true],
    ['10.0.0.5:5432', '10.0.0.5:5432', true],
    ['10.0.0.5:5432', '10.0.0.5:443', false],
    ['2001:db8::1', '[2001:DB8:0::1]:443', true],
    ['[2001:db8::1]:99', '[2001:db8::1]:99', true],
    ['127.0.0.1', '[::ffff:127.0.0.1]:443', false],
    ['example.com', '93.184.216.34:443', false],
  ];
  for (const [entry, asked, allowed] of cases)
    expect([entry, asked, allows([entry], asked)]).toEqual([entry, asked, allowed]);
});

test('what is no entry', () => {
  for (const entry of [
    '',
    '*',
    '*.',
    '*.4',
    'a.*.b',
    'http://a',
    'a/b',
    'a:0',
    'a:65536',
    'a:b',
    'u@a',
    'a b',
    '10.0.0.0/8',
    '%61.b',
  ]) {
    expect([entry, readAllowedHost(entry)]).toEqual([entry, undefined]);
  }
});

verifies('tools.egress-guarded', 'which addresses a name may lead to', () => {
  const rules = new EgressRules(['a.example', '*.b.example', '10.0.0.5:5432', 'fd00::1']);
  const allowed = (address: string, port: number) => rules.allowsAddress(address, port);
  expect(allowed('93.184.216.34', 443)).toBe(true);
  expect(allowed('2606:4700::1', 443)).toBe(true);
  expect(allowed('10.0.0.5', 5432)).toBe(true);
  expect(allowed('fd00:0::1', 443)).toBe(true);
  const closed = [
    '10.0.0.5',
    '127.0.0.1',
    '169.254.169.254',
    '::1',
    '::ffff:10.0.0.5',
    'fe80::1%eth0',
    '64:ff9b::a00:5',
    '',
  ];
  for (const address of closed) expect([address, allowed(address, 443)]).toEqual([address, false]);
});
