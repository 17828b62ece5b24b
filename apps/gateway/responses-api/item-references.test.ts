import { expect } from 'vitest';
import { verifies } from '../../../test/verifies.js';
import { referencesIn, withItems } from './item-references.js';
import type { WireItem } from './wire-types.js';

const id = `msg_${'a'.repeat(32)}0000`;
const reference = { type: 'item_reference', id };
const bodyOf = (count: number) => ({ input: Array.from({ length: count }, () => reference) });

verifies('apis.responses.references', 'as many as a request may have messages, and no more bytes than a body', () => {
  expect(referencesIn({ input: 'plain' }, 2)).toBeUndefined();
  expect(referencesIn(bodyOf(2), 2)!.runIds).toEqual(new Set([`run_${'a'.repeat(32)}`]));
  expect(() => referencesIn(bodyOf(3), 2)).toThrow(expect.objectContaining({ code: 'invalid_value', param: 'input' }));
  const item = { id, type: 'message', text: 'x'.repeat(90) } as unknown as WireItem;
  const size = JSON.stringify(item).length;
  const items = new Map([[id, item]]);
  expect(withItems(bodyOf(2), items, 2 * size)['input']).toEqual([item, item]);
  expect(() => withItems(bodyOf(3), items, 2 * size)).toThrow(expect.objectContaining({ code: 'request_too_large' }));
});
