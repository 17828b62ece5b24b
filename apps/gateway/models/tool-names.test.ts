import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../../test/verifies.js';
import { mapToolNames } from './tool-names.js';

verifies('models.tool-names', 'examples: slash, collision, overlength', () => {
  const names = mapToolNames(['chimech/query', 'a/b', 'a_b', 'c.d', 'c/d', 'x'.repeat(128)]);
  expect(names.toWire('chimech/query')).toBe('chimech_query');
  expect(names.toWire('a_b')).toBe('a_b');
  expect(names.toWire('a/b')).toMatch(/^a_b_[0-9a-f]{8}$/);
  expect(names.toWire('c.d')).not.toBe(names.toWire('c/d'));
  expect(names.toWire('x'.repeat(128))).toHaveLength(64);
  expect(names.fromWire('chimech_query')).toBe('chimech/query');
  expect(names.fromWire('nobody')).toBe('nobody');
});

verifies('models.tool-names', 'any names: valid, reversible, whatever their order', () => {
  const name = fc.oneof(fc.string({ minLength: 1, maxLength: 130 }), fc.stringMatching(/^[ab_./-]{1,3}$/));
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 20 }), (list) => {
      const names = mapToolNames(list);
      const turned = mapToolNames([...list].reverse());
      for (const one of list) {
        expect(names.toWire(one)).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        expect(names.fromWire(names.toWire(one))).toBe(one);
        expect(turned.toWire(one)).toBe(names.toWire(one));
      }
    }),
    { numRuns: 300 },
  );
});
