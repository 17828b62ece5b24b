import { expect } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { spellingsOf } from './judged-item.js';

verifies('policy.resource-spellings', 'a plain URI has one, any other also that which servers read', () => {
  for (const plain of ['doc://plans/a', 'file:///tmp/a b.txt', 'ui://app', 'doc:{name}', 'doc://café/ü', 'none'])
    expect(spellingsOf(plain)).toEqual([plain]);
  const read = {
    'file:///tmp/../etc/passwd': 'file:///etc/passwd',
    'file:///tmp/%2e%2e/etc/passwd': 'file:///etc/passwd',
    'file:///tmp/%2E./etc/passwd': 'file:///etc/passwd',
    'file:///tmp/..%2fetc/passwd': 'file:///etc/passwd',
    'file:///tmp\\..\\etc\\passwd': 'file:///etc/passwd',
    'file://localhost/etc/passwd': 'file:///etc/passwd',
    'file:///%65tc/passwd': 'file:///etc/passwd',
    'doc://pl\tans/a': 'doc://plans/a',
    'DOC://plans/a': 'doc://plans/a',
    ' doc://plans/a\n': 'doc://plans/a',
  };
  for (const [uri, other] of Object.entries(read))
    expect([uri, spellingsOf(uri)]).toEqual([uri, expect.arrayContaining([uri, other])]);
  expect(spellingsOf('doc://%')).toEqual(['doc://%']);
});
