// What counts as noise in a stream of events, wherever its bytes are cut.
import { expect } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { type EventBound, EventReader } from './event-reader.js';
import { FloodGate } from './flood-gate.js';
import { maxValues } from './value-counter.js';

const maxBytes = 1_000_000;
const many = 21_000;

class Bound extends Error {
  constructor(readonly bound: EventBound) {
    super(bound);
  }
}

/** What is passed on of `text`, cut into pieces of so many bytes. */
function passedOn(text: string, size: number, limit = maxBytes): string {
  const reader = new EventReader({
    maxBytes: limit,
    noise: new FloodGate(),
    rewrite: (data) => (data.toString() === '{}' ? undefined : 'other'),
    toError: (bound) => new Bound(bound),
  });
  const bytes = Buffer.from(text);
  let passed = '';
  for (let at = 0; at < bytes.length; at += size) passed += reader.feed(bytes.subarray(at, at + size)).toString();
  return passed;
}

/** The bound that `text` meets. */
function boundOf(text: string, size = 64 * 1024, limit = maxBytes): EventBound | undefined {
  try {
    passedOn(text, size, limit);
    return undefined;
  } catch (error) {
    return (error as Bound).bound;
  }
}

verifies('tools.hostile-events', 'events are passed on one by one, however they are cut', () => {
  const text =
    ': hi\r\nid: 1\r\ndata: {}\r\n\r\n\n\ndata:[\rdata\rdata:  ]\r\revent: endpoint\ndata: /mcp\n\ndata: half\n';
  for (const size of [1, 2, 7, 1_000]) {
    expect(passedOn(text, size)).toBe(': hi\nid: 1\ndata: {}\n\ndata: other\n\nevent: endpoint\ndata: /mcp\n\n');
  }
});

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
  const roomy = (text: string) => boundOf(text, 64 * 1024, 1e9);
  expect(roomy(`${values}\n`.repeat(3))).toBeUndefined();
  expect(roomy(`${values.repeat(3)}\n`)).toBe('message_values');
  expect(roomy('data\n'.repeat(maxValues + 1))).toBe('message_values');
});
