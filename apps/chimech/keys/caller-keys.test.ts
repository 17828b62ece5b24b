import { expect, test } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
import { verifies } from '../../../test/verifies.js';
import { CallerKeys } from './caller-keys.js';

const code = (identify: () => unknown) => {
  try {
    return identify();
  } catch (error) {
    return error instanceof AppError ? error.code : error;
  }
};
const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

verifies('chimech.keys', 'each of several keys is a caller of its own, any other is refused', () => {
  const keys = new CallerKeys(['old-key-1', 'new-key-2']);
  const [old, fresh] = [keys.identify(bearer('old-key-1')), keys.identify({ headers: { 'x-api-key': 'new-key-2' } })];
  expect(old).toMatch(/^key_[0-9a-f]{12}$/);
  expect(fresh).not.toBe(old);
  expect(code(() => keys.identify(bearer('old-key-')))).toBe('invalid_api_key');
  expect(code(() => keys.identify({ headers: {} }))).toBe('invalid_api_key');
});

test('without keys everybody is local', () => {
  expect(new CallerKeys([]).identify({ headers: {} })).toBe('local');
});
