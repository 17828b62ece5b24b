import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StreamedText, textOf, toArguments } from './free-text.js';

/** The text as it is emitted piece by piece, and after the last piece. */
function streamed(json: string, cuts: readonly number[] = []): string {
  const text = new StreamedText();
  const ends = [...new Set(cuts.map((cut) => cut % (json.length + 1)))].sort((left, right) => left - right);
  let from = 0;
  let reported = '';
  for (const end of [...ends, json.length]) {
    reported += text.add(json.slice(from, end));
    from = end;
  }
  return reported + text.end();
}

test('any text arrives as it is, wherever its arguments are cut', () => {
  const input = fc.string({ unit: 'binary', maxLength: 40 });
  const strange = fc.constantFrom('', '"', '\\', '\\"', '\\\\u0041', '\u2028', '\ud83d\ude00', '}\n{"input":"');
  const cuts = fc.array(fc.nat(400), { maxLength: 8 });
  fc.assert(
    fc.property(fc.oneof(input, strange), cuts, (given, at) => {
      expect(streamed(toArguments(given), at)).toBe(given);
      expect(streamed(JSON.stringify({ input: given }, null, 2), at)).toBe(given);
      const escaped = given.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
      expect(streamed(`{"input":"${escaped}"}`, at)).toBe(given);
      expect(textOf(toArguments(given))).toBe(given);
    }),
  );
});

test('what is emitted while it arrives does not wait for the end', () => {
  const text = new StreamedText();
  expect(text.add('{"inp')).toBe('');
  expect(text.add('ut": "*** Begin\\')).toBe('*** Begin');
  expect(text.add('nPatch \\u00')).toBe('\nPatch ');
  expect(text.add('e4"}')).toBe('ä');
  expect(text.end()).toBe('');
});

test.each([
  ['another name of the argument', '{"patch":"a"}', 'a'],
  ['more than one argument', '{"input":"a","b":1}', 'a'],
  ['no argument that could be meant', '{"a":1}', '{"a":1}'],
  ['no JSON', '*** Begin Patch', '*** Begin Patch'],
  ['cut JSON', '{"input":"a', 'a'],
  ['raw line ends', '{"input":"a\nb"}', 'a\nb'],
])('arguments of a model that are not as asked for: %s', (_what, json, text) => {
  expect(streamed(json)).toBe(text);
});
