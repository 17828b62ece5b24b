// A message in transit carries its channel, since many may share a physical one, and a number, since PostgreSQL drops equal
// payloads of one transaction.
import { parseJson } from '#libs/schemas/json.js';

/** Longest name of a channel, bytes. */
const maxChannelBytes = 500;

export interface EnvelopeLimits {
  /** Every message up to this many bytes fits, whatever its channel. */
  messageBytes: number;
  /** Maximum size of the whole payload, including name and escapes. */
  payloadBytes: number;
}

export interface Envelope {
  channel: string;
  message: string;
}

/** @throws RangeError */
export function toChannelPayload({ channel, message }: Envelope, number: number, limits: EnvelopeLimits): string {
  if (Buffer.byteLength(channel) > maxChannelBytes) throw new RangeError('Channel name too long');
  if (Buffer.byteLength(message) > limits.messageBytes) {
    throw new RangeError(`Message too large: a channel carries at most ${limits.messageBytes} bytes`);
  }
  const plain = isPlain(channel) && isPlain(message);
  const body = plain ? `${channel.length} ${channel}${message}` : JSON.stringify([channel, message]);
  const payload = `${number.toString(36)}${plain ? ' ' : '!'}${body}`;
  // Only escaped text can get here: NUL and lone surrogates then take six bytes.
  if (Buffer.byteLength(payload) > limits.payloadBytes) throw new RangeError('Message too large once escaped');
  return payload;
}

/** Undefined for payloads that are not ours. */
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
  const value = parseJson(body);
  if (!Array.isArray(value) || typeof value[0] !== 'string' || typeof value[1] !== 'string') return undefined;
  return { channel: value[0], message: value[1] };
}

/** PostgreSQL's text cannot hold NUL or lone surrogates; UTF-8 cannot hold lone surrogates. */
const isPlain = (text: string): boolean => !/\u0000|\p{Surrogate}/u.test(text);
