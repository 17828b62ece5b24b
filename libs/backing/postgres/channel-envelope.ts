// One message of a channel as a NOTIFY payload: which channel it is for, since many share a physical one, and a number,
// since PostgreSQL drops equal payloads of one transaction.
import { createHash } from 'node:crypto';

/** A NOTIFY payload is shorter than 8,000 bytes. */
const maxPayloadBytes = 7_999;
const maxChannelBytes = 500;

/** Every message of so many bytes fits, whatever its channel. */
export const maxMessageBytes = 7_400;

/**
 * Physical channels. A session's list of channels is searched for every message, so thousands of them would slow the
 * server, and one for all would wake every process for every message.
 */
export const shardCount = 64;

export function shardOf(channel: string): string {
  const [first] = createHash('sha256').update(channel).digest();
  return `signalbox_${first! % shardCount}`;
}

export interface Envelope {
  channel: string;
  message: string;
}

/** @throws RangeError */
export function toPayload({ channel, message }: Envelope, number: number): string {
  if (Buffer.byteLength(channel) > maxChannelBytes) throw new RangeError('Channel name too long');
  if (Buffer.byteLength(message) > maxMessageBytes) {
    throw new RangeError(`Message too large: a channel carries at most ${maxMessageBytes} bytes`);
  }
  const plain = isPlain(channel) && isPlain(message);
  const body = plain ? `${channel.length} ${channel}${message}` : JSON.stringify([channel, message]);
  const payload = `${number.toString(36)}${plain ? ' ' : '!'}${body}`;
  // Only text that had to be escaped can come here: NUL and half characters take six bytes then.
  if (Buffer.byteLength(payload) > maxPayloadBytes) throw new RangeError('Message too large once escaped');
  return payload;
}

/** Undefined for what is not ours. */
export function fromPayload(payload: string): Envelope | undefined {
  const head = /^[0-9a-z]+([ !])/.exec(payload);
  if (head === null) return undefined;
  const body = payload.slice(head[0].length);
  return head[1] === ' ' ? fromPlain(body) : fromEscaped(body);
}

function fromPlain(body: string): Envelope | undefined {
  const space = body.indexOf(' ');
  const length = Number(body.slice(0, space));
  if (space < 1 || !Number.isInteger(length)) return undefined;
  const start = space + 1;
  return { channel: body.slice(start, start + length), message: body.slice(start + length) };
}

function fromEscaped(body: string): Envelope | undefined {
  try {
    const value: unknown = JSON.parse(body);
    if (!Array.isArray(value) || typeof value[0] !== 'string' || typeof value[1] !== 'string') return undefined;
    return { channel: value[0], message: value[1] };
  } catch {
    return undefined;
  }
}

/** PostgreSQL's text holds neither NUL nor half of a surrogate pair. */
const isPlain = (text: string): boolean => !/\u0000|\p{Surrogate}/u.test(text);
