import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { verifies } from '../../test/verifies.js';
import { auditArguments, auditOutcome, maxAuditBytes, traceIdOf } from './call-audit.js';

const canary = 'canary7f3a9c51d2e8';

/** Every shape in which a secret was seen to reach a tool's arguments or its result. */
const secrets: Record<string, JsonObject> = {
  'header by name': { headers: { Authorization: `Basic ${canary}`, 'X-Api-Key': canary, Cookie: `sid=${canary}` } },
  'fields by name': {
    password: canary,
    apiKey: canary,
    client_secret: canary,
    refreshToken: canary,
    'private-key': canary,
  },
  'an object under a name': { credentials: { user: 'me', value: [canary] } },
  'bearer in a text': { note: `curl -H 'Authorization: Bearer ${canary}' https://example.org` },
  'bearer alone': { note: `use bearer ${canary}` },
  'our own key': { text: `key sb_${canary}${canary} here` },
  'openai key': { text: `sk-proj-${canary}` },
  'github token': { text: `ghp_${canary}AAAAAAAAAAAAAAAAAA` },
  jwt: { text: `eyJhbGciOiJIUzI1NiJ9.${canary}.${canary}` },
  pem: { text: `x -----BEGIN RSA PRIVATE KEY-----\n${canary}\n-----END RSA PRIVATE KEY----- y` },
  'pem that was cut': { text: `-----BEGIN PRIVATE KEY-----\n${canary}` },
  'environment file': {
    content: `A=1\nDB_PASSWORD=${canary}\nAWS_SECRET_ACCESS_KEY: ${canary}\nSTRIPE_API_KEY="${canary} x"`,
  },
  'json in a text': { body: JSON.stringify({ password: canary, nested: JSON.stringify({ token: canary }) }) },
  'url with password': { url: `postgres://user:${canary}@db.example/app` },
  'query string': { url: `https://example.org/?a=1&access_token=${canary}&b=2` },
  'as a name': { [`sk-${canary}`]: 1 },
};

describe('audit of a call', () => {
  for (const [name, value] of Object.entries(secrets)) {
    verifies('audit.no-secret', name, () => {
      expect(auditArguments(value).arguments).not.toContain(canary);
      const text = JSON.stringify(value);
      const outcome = auditOutcome({
        state: 'failed',
        blocks: [{ type: 'text', text }],
        structuredContent: value,
        error: { code: 'tool_failed', message: text },
        durationMs: 1,
      });
      expect(outcome.result).not.toContain(canary);
    });
  }

  test('what is no secret stays', () => {
    const args = {
      path: 'notes.md',
      max_tokens: 5,
      tokens: 7,
      text: 'the secretary: a basic idea',
      ok: true,
      none: null,
    };
    expect(JSON.parse(auditArguments(args).arguments)).toMatchObject({ path: 'notes.md', max_tokens: 5, tokens: 7 });
  });

  test('digests are of the whole, before redaction and clamping', () => {
    const args = { password: canary, text: 'x'.repeat(100_000) };
    const digest = createHash('sha256').update(JSON.stringify(args)).digest('hex');
    expect(auditArguments(args).argumentsDigest).toBe(digest);
  });

  verifies('audit.clamped', 'a megabyte, of any characters', () => {
    for (const text of ['x', 'ä', '漢', '😀', '\u0000', '\ud800']) {
      const shown = auditArguments({ text: text.repeat(1024 * 1024) }).arguments;
      expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(maxAuditBytes);
      expect(shown).not.toContain('\ufffd');
      expect(shown).toMatch(/clamped, \d+ bytes]$/);
    }
  });

  test('hostile texts take linear time', () => {
    const start = performance.now();
    for (const text of [
      'password',
      '-----BEGIN PRIVATE KEY-----',
      'eyJa',
      'a://',
      'token ',
      'sk-',
      '"',
      'bearer    ',
    ]) {
      auditArguments({ text: text.repeat(200_000) });
    }
    expect(performance.now() - start).toBeLessThan(2_000);
  });

  test('deep values end, pictures are described by size', () => {
    let deep: JsonObject = { password: canary };
    for (let level = 0; level < 500; level += 1) deep = { deep };
    expect(auditArguments(deep).arguments).toContain('too deep');
    const image = auditOutcome({
      state: 'completed',
      blocks: [{ type: 'image', data: 'AAAA'.repeat(10), mimeType: 'image/png' }],
      durationMs: 1,
    });
    expect(image.result).toContain('[30 bytes]');
  });

  test('the trace id of a traceparent', () => {
    expect(traceIdOf(`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`)).toBe('a'.repeat(32));
    expect(traceIdOf('nonsense')).toBeNull();
    expect(traceIdOf(undefined)).toBeNull();
  });
});
