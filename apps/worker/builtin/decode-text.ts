// Decodes a file in pieces that end at character boundaries, so that reading can stop and continue there. Holds only one
// piece in memory.
import iconv from 'iconv-lite';
import { AppError } from '#libs/schemas/errors.js';

const singleByte = /^(ascii|usascii|latin1|binary|iso8859\d*|windows125\d|cp125\d|koi8[ru]|macintosh)$/;

/** The encoding's name for iconv-lite, without punctuation. @throws AppError invalid_tool_arguments */
export function encodingNamed(given: string): string {
  const name = given.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  if (name === 'base64') return name;
  // UTF-7 has state between characters, and hex is not a character encoding.
  if (name.startsWith('utf7') || name === 'hex' || !iconv.encodingExists(name)) {
    throw new AppError(
      'invalid_tool_arguments',
      `Unknown encoding '${given}'; use utf-8, gbk, latin1, utf-16le, base64, …`,
    );
  }
  return name;
}

export function encodeText(text: string, encoding: string): Buffer {
  if (encoding !== 'base64') {
    const bytes = iconv.encode(text, encoding);
    if (iconv.decode(bytes, encoding, { stripBOM: false }) === text) return bytes;
    throw new AppError('invalid_tool_arguments', `content has characters that ${encoding} cannot encode`);
  }
  const compact = text.replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(compact) || compact.replaceAll('=', '').length % 4 === 1) {
    throw new AppError('invalid_tool_arguments', 'content is not valid base64');
  }
  return Buffer.from(compact, 'base64');
}

export interface Piece {
  text: string;
  /** Where the bytes of `text` begin and end in the file. */
  start: number;
  end: number;
}

const pieceBytes = 32 * 1024;

/** `start` is the position of `chunks` in the file. */
export async function* decodePieces(
  chunks: AsyncIterable<Buffer>,
  encoding: string,
  start: number,
): AsyncGenerator<Piece> {
  let held = Buffer.alloc(0);
  let position = start;
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length; from += pieceBytes) {
      held = Buffer.concat([held, chunk.subarray(from, from + pieceBytes)]);
      if (encoding.startsWith('utf8') && position === start && start > 0) held = held.subarray(continuation(held));
      const length = wholeCharacters(held, encoding);
      if (length === 0) continue;
      yield decoded(held.subarray(0, length), encoding, position);
      position += length;
      held = held.subarray(length);
    }
  }
  if (held.length > 0) yield decoded(held, encoding, position);
}

function decoded(bytes: Buffer, encoding: string, start: number): Piece {
  const text =
    encoding === 'base64' ? bytes.toString('base64') : iconv.decode(bytes, encoding, { stripBOM: start === 0 });
  return { text, start, end: start + bytes.length };
}

/** Counts the bytes at the start that belong to the character before them. */
function continuation(bytes: Buffer): number {
  let count = 0;
  while (count < 3 && count < bytes.length && (bytes[count]! & 0xc0) === 0x80) count += 1;
  return count;
}

/** Counts the bytes that are whole characters. The rest is bounded, whatever the text. */
function wholeCharacters(bytes: Buffer, encoding: string): number {
  if (encoding === 'base64') return bytes.length - (bytes.length % 3);
  if (encoding.startsWith('utf8')) return bytes.length - incompleteUtf8(bytes);
  if (encoding.startsWith('utf16') || encoding.startsWith('ucs2')) return bytes.length - (bytes.length % 2);
  if (encoding.startsWith('utf32') || encoding.startsWith('ucs4')) return bytes.length - (bytes.length % 4);
  if (singleByte.test(encoding)) return bytes.length;
  // In double-byte encodings no second byte is below 0x30, so a character ends with such a byte.
  for (let index = bytes.length - 1; index >= 0; index -= 1) if (bytes[index]! < 0x30) return index + 1;
  return bytes.length < pieceBytes ? 0 : bytes.length - (bytes.length % 2);
}

function incompleteUtf8(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const expected = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return expected > back ? back : 0;
  }
  return 0;
}
