import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { geminiToolNames, mapToolNames, openAiToolNames } from './tool-names.js';

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

/** A name that this rule makes from another, and that a second set may contain unchanged. */
const suffixed = mapToolNames(['a/b', 'a.b']).toWire('a/b');

for (const rule of [openAiToolNames, geminiToolNames]) {
  verifies('models.tool-names', `any names: valid (${rule.valid}), reversible, whatever their order`, () => {
    const name = fc.oneof(
      fc.string({ minLength: 1, maxLength: 130 }),
      fc.stringMatching(/^[ab1_./-]{1,3}$/),
      fc.constantFrom(suffixed, 'a/b', 'a.b', 'a_b', '1_b', '-b', 'x'.repeat(64), 'x'.repeat(65)),
    );
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 20 }), (list) => {
        const names = mapToolNames(list, rule);
        const turned = mapToolNames([...list].reverse(), rule);
        expect(new Set(list.map(names.toWire)).size).toBe(list.length);
        for (const one of list) {
          expect(names.toWire(one)).toMatch(rule.valid);
          expect(names.fromWire(names.toWire(one))).toBe(one);
          expect(turned.toWire(one)).toBe(names.toWire(one));
        }
      }),
      { numRuns: 300 },
    );
  });
}
