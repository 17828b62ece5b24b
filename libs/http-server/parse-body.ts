// Bytes to JSON: UTF-8 only; a byte order mark is allowed. Depth and number of values are bounded before the values are
// processed: a small text can cause much work.
import { AppError } from '#libs/schemas/errors.js';

const utf8 = new TextDecoder('utf-8', { fatal: true });
const openBrace = 0x7b;
const openBracket = 0x5b;
const closeBrace = 0x7d;
const closeBracket = 0x5d;
const quotePattern = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/** No legitimate request nests deeper; a tool schema alone may have 32 levels. */
const maxDepth = 128;
/** Members and elements together. The messages and tools allowed in one request add up to a fifth of it. */
const maxValues = 100_000;

/** @throws AppError invalid_json, request_too_large */
export function parseBody(body: Buffer): unknown {
  refuseUnbounded(body);
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    throw new AppError('invalid_json', 'The body is not UTF-8');
  }
  if (text.trim() === '') throw new AppError('invalid_json', 'The body is empty');
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new AppError('invalid_json', 'The body is not JSON');
  }
}

function refuseUnbounded(body: Buffer): void {
  let depth = 0;
  let separators = 0;
  let inString = false;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at];
    if (inString) {
      if (byte === backslash) at++;
      else if (byte === quotePattern) inString = false;
    } else if (byte === quotePattern) inString = true;
    else if (byte === openBrace || byte === openBracket) {
      if (++depth > maxDepth) throw new AppError('invalid_json', `The body is nested deeper than ${maxDepth}`);
    } else if (byte === closeBrace || byte === closeBracket) depth--;
    else if (byte === comma && ++separators >= maxValues) {
      throw new AppError('request_too_large', `The body has more than ${maxValues} members and elements`);
    }
  }
}
