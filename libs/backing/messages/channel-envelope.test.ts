import fc from 'fast-check';
import { expect, test } from 'vitest';
import { notifyLimits, shardCount, shardOf } from '../postgres/notify-shards.js';
import { fromPayload, toChannelPayload } from './channel-envelope.js';

test('whatever is sent arrives, in payloads that PostgreSQL takes', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: 'binary' }),
    fc.constant('half \ud800 pair'),
  );
  fc.assert(
    fc.property(text, text, fc.nat(), (channel, message, number) => {
      const payload = toChannelPayload({ channel, message }, number, notifyLimits);
      expect(fromPayload(payload)).toEqual({ channel, message });
      expect(payload).not.toMatch(/\u0000|\p{Surrogate}/u);
      expect(Buffer.byteLength(payload)).toBeLessThan(8_000);
    }),
  );
});

test('the largest message with the longest name', () => {
  const envelope = { channel: 'c'.repeat(500), message: 'm'.repeat(notifyLimits.messageBytes) };
  expect(Buffer.byteLength(toChannelPayload(envelope, Number.MAX_SAFE_INTEGER, notifyLimits))).toBeLessThan(8_000);
  expect(() => toChannelPayload({ ...envelope, channel: 'c'.repeat(501) }, 1, notifyLimits)).toThrow(RangeError);
  expect(() => toChannelPayload({ ...envelope, message: `${envelope.message}m` }, 1, notifyLimits)).toThrow(RangeError);
});

test('what others send on the channel is nobody’s', () => {
  for (const payload of ['', 'hello', '1 ', '1 x', '1!', '1![1,2]', '1!{"a":1}', '1 5']) {
    expect(fromPayload(payload)?.message ?? '').toBe('');
  }
});

test('channels spread over the physical ones', () => {
  const shards = new Set(Array.from({ length: 2_000 }, (_, index) => shardOf(`run:${index}`)));
  expect(shards.size).toBe(shardCount);
  for (const shard of shards) expect(shard).toMatch(/^signalbox_\d+$/);
});
