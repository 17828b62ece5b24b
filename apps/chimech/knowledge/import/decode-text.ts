// Bytes of a text file as text. UTF-8 and UTF-16 tell themselves; others are declared by the document or recognised by what
// their bytes look like.
import chardet from 'chardet';
import iconv from 'iconv-lite';
import { UnreadableFile } from './documents.js';

/** Enough to recognise an encoding by. */
const sampleBytes = 64 * 1024;
/** Tried in this order where several are as likely. */
const expected = ['GB18030', 'Big5', 'Shift_JIS', 'EUC-JP', 'EUC-KR', 'windows-1251', 'KOI8-R', 'windows-1252'];

/**
 * @param declared The name of an encoding that the document gives itself.
 * @throws UnreadableFile for bytes that are no text
 */
export function decodeText(bytes: Buffer, declared?: string): string {
  const text = decode(bytes, declared);
  const controls = text.match(/[\0-\x08\x0e-\x1a\x1c-\x1f]/g)?.length ?? 0;
  // A stray control character happens; a file full of them is something else under a text file's name.
  if (controls > Math.max(4, text.length / 1_000)) throw new UnreadableFile('is not text');
  return text;
}

function decode(bytes: Buffer, declared?: string): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return iconv.decode(bytes, 'utf-16le');
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return iconv.decode(bytes, 'utf-16be');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const text = bytes.toString('utf8');
    // UTF-8 with a few mistakes in it: in other encodings hardly anything would pass for UTF-8.
    const mistakes = text.match(/\ufffd/g)?.length ?? 0;
    const proper = (text.match(/[^\0-\x7f]/gu)?.length ?? 0) - mistakes;
    if (proper >= 2 * mistakes) return text;
    const known = declared !== undefined && !/^utf-?8$/i.test(declared) && iconv.encodingExists(declared);
    return iconv.decode(bytes, known ? declared : recognise(bytes));
  }
}

function recognise(bytes: Buffer): string {
  const matches = chardet.analyse(bytes.subarray(0, sampleBytes));
  const best = matches[0]?.confidence ?? 0;
  const likely = matches.filter(({ confidence }) => confidence >= best - 5).map(({ name }) => name);
  return expected.find((name) => likely.includes(name as (typeof likely)[number])) ?? 'windows-1252';
}
