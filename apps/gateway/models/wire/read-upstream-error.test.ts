import { expect, test } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { readOpenAiError } from '../openai/read-openai-error.js';
import { createErrorReader } from './read-upstream-error.js';

const errors = createErrorReader({ provider: 'up', secrets: ['my-own-secret'], readError: readOpenAiError });
const of = (status: number, body: unknown, headers = {}) =>
  errors.ofStatus(status, headers, typeof body === 'string' ? body : JSON.stringify(body));

const said = (message: string, more = {}) => ({ error: { message, ...more } });

const table: [string, number, unknown, object][] = [
  ['context length by code', 400, said('x', { code: 'context_length_exceeded' }), { code: 'context_length_exceeded' }],
  [
    'context length by words',
    400,
    said('This model’s maximum context length is 8'),
    { code: 'context_length_exceeded' },
  ],
  ['context length, too large', 413, said('prompt is too long'), { code: 'context_length_exceeded' }],
  ['a bad value', 400, said('bad stop', { param: 'stop' }), { code: 'invalid_value', param: 'stop', http: 400 }],
  ['a bad value in the words of FastAPI', 422, { detail: [{ msg: 'no' }] }, { code: 'invalid_value' }],
  ['400 without words', 400, '<html>', { code: 'model_error', http: 502 }],
  ['its 401 is not ours', 401, said('bad key'), { code: 'model_error', http: 502, upstreamStatus: 401 }],
  ['its 403 is not ours', 403, said('no'), { code: 'model_error', http: 502, upstreamStatus: 403 }],
  ['out of money', 402, said('Insufficient Balance'), { code: 'model_error', http: 502 }],
  ['no such model', 404, said('model "x" not found, try pulling it'), { code: 'model_not_found', http: 404 }],
  ['no such path', 404, 'nope', { code: 'model_error' }],
  ['too large', 413, '', { code: 'request_too_large', http: 413 }],
  ['too many', 429, '', { code: 'rate_limit_exceeded', http: 429, retryAfterSeconds: 1 }],
  ['too many, its code a number in text (Azure)', 429, said('slow', { code: '429' }), { code: 'rate_limit_exceeded' }],
  [
    'too many (xAI)',
    429,
    { code: 'exhausted', error: 'slow' },
    { message: expect.stringMatching(/429: slow$/), http: 429 },
  ],
  ['too many (Mistral)', 429, { message: 'slow' }, { message: expect.stringMatching(/429: slow$/), http: 429 }],
  ['broken', 500, said('oops'), { code: 'model_error', message: "Model provider 'up' answered 500: oops" }],
  ['in a list (Gemini)', 400, [said('bad')], { code: 'invalid_value' }],
  ['a redirect', 302, '', { code: 'model_error', upstreamStatus: 302 }],
];

for (const [name, status, body, expected] of table) {
  verifies('models.errors', name, () => expect(of(status, body).error).toMatchObject(expected));
}

verifies('models.errors', 'Retry-After in its three forms', () => {
  const seconds = (headers: object) => of(429, '', headers).error.retryAfterSeconds;
  expect(seconds({ 'retry-after': '35' })).toBe(35);
  expect(seconds({ 'retry-after-ms': '1500' })).toBe(2);
  expect(seconds({ 'retry-after': new Date(Date.now() + 9_000).toUTCString() })).toBeGreaterThan(6);
  expect(seconds({ 'retry-after': 'soon' })).toBe(1);
});

test('what is tried again', () => {
  const again = [408, 409, 429, 500, 502, 503, 504, 529];
  const not = [400, 401, 403, 404, 413, 422, 501, 302];
  for (const status of again) expect(of(status, '').retryable, String(status)).toBe(true);
  for (const status of not) expect(of(status, '').retryable, String(status)).toBe(false);
  expect(of(429, said('pay', { code: 'insufficient_quota' })).retryable).toBe(false);
  expect(of(429, said('pay', { type: 'exceeded_current_quota_error' })).retryable).toBe(false);
});

verifies('models.errors', 'no secret, no line break, no flood in the message', () => {
  const secret =
    'Incorrect sk-proj-abcdef123456, Bearer xyz.abc, my-own-secret\r\nforged: line\u2028' + 'x'.repeat(9_000);
  const { message } = of(500, said(secret)).error;
  expect(message).not.toMatch(/abcdef|xyz|my-own|[\r\n\u2028]/);
  expect(message.length).toBeLessThan(600);
  expect(of(401, said('key sk**le is wrong')).error.message).not.toContain('sk**');
});
