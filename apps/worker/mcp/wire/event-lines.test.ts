// What counts as noise in a stream of events, wherever its bytes are cut.
import { expect } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { EventLines, type EventBound } from './event-lines.js';
import { FloodGate } from './flood-gate.js';
import { maxValues } from './value-counter.js';

const maxBytes = 1_000_000;
const many = 21_000;

/** The bound that `text` meets, cut into pieces of so many bytes. */
function boundOf(text: string, size = 64 * 1024): EventBound | undefined {
  const lines = new EventLines(maxBytes, new FloodGate());
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) {
    const bound = lines.feed(bytes.subarray(at, at + size));
    if (bound !== undefined) return bound;
  }
  return undefined;
}

verifies('tools.hostile-events', 'messages are no noise, however their server writes events', () => {
  const events = [
    'data: {}\n\n',
    'event: message\nid: 7\nretry: 10\ndata: {}\n\n',
    'event:message\r\ndata: {}\r\n\r\n',
    'data: {\rdata: }\r\r',
    ': beside\ndata\ndata: {}\n\n',
  ];
  for (const event of events) for (const size of [5, 65_536]) expect(boundOf(event.repeat(many), size)).toBeUndefined();
});

verifies('tools.hostile-events', 'what is no message is noise, however it is cut', () => {
  const noises = [
    ':\n',
    ': keep-alive\n\n',
    '\n',
    '\r\n',
    '\r',
    'id: 1\n',
    'retry: 1\n\n',
    'x\n',
    'event: ping\ndata: {}\n\n',
  ];
  for (const noise of noises) {
    for (const size of [1, 65_536]) expect(boundOf(noise.repeat(many), size), JSON.stringify(noise)).toBe('noise');
    expect(boundOf(noise.repeat(many / 3)), JSON.stringify(noise)).toBeUndefined();
  }
});

verifies('tools.hostile-events', 'an event is bounded in bytes, values and lines, and the next one begins anew', () => {
  const half = `data: ${'x'.repeat(maxBytes / 2)}\n`;
  for (const end of ['\n', '\r\n', '\r']) {
    expect(boundOf(`${half}${end}`.repeat(4), half.length)).toBeUndefined();
    expect(boundOf(half.repeat(3), half.length)).toBe('message_bytes');
  }
  const values = `data: [${'1,'.repeat(maxValues / 2)}\n`;
  const roomy = (text: string) => new EventLines(1e9, new FloodGate()).feed(Buffer.from(text));
  expect(roomy(`${values}\n`.repeat(3))).toBeUndefined();
  expect(roomy(values.repeat(3))).toBe('message_values');
  expect(roomy('data\n'.repeat(maxValues + 1))).toBe('message_values');
});
