// Word documents by way of HTML. A package that unpacks to more than is allowed is refused before it is unpacked for real.
import { inflateRawSync } from 'node:zlib';
import mammoth from 'mammoth';
import { maxFileBytes, type ReadDocument, UnreadableFile } from './documents.js';
import { readHtml } from './read-html.js';

/** Of all parts together: XML is wordy. */
const maxUnpackedBytes = 4 * maxFileBytes;

export async function readDocx(bytes: Buffer): Promise<ReadDocument> {
  ensureSmall(bytes);
  // Pictures are not text.
  const convertImage = mammoth.images.imgElement(() => Promise.resolve({ src: '' }));
  const { value } = await mammoth.convertToHtml({ buffer: bytes }, { convertImage });
  return readHtml(value);
}

const endOfDirectory = 0x06054b50;
const entryOfDirectory = 0x02014b50;

/** Unpacks each part with a bound: the sizes that a package states may be false (APPNOTE 4.3.12, 4.3.16). */
function ensureSmall(bytes: Buffer): void {
  let left = maxUnpackedBytes;
  const end = bytes.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  if (end < 0 || bytes.length < end + 22 || bytes.readUInt32LE(end) !== endOfDirectory)
    throw new UnreadableFile('is not a Word document');
  let at = bytes.readUInt32LE(end + 16);
  for (let parts = bytes.readUInt16LE(end + 10); parts > 0; parts -= 1) {
    if (at + 46 > bytes.length || bytes.readUInt32LE(at) !== entryOfDirectory) throw damaged();
    const packed = bytes.readUInt32LE(at + 20);
    const header = bytes.readUInt32LE(at + 42);
    if (header + 30 > bytes.length) throw damaged();
    const data = header + 30 + bytes.readUInt16LE(header + 26) + bytes.readUInt16LE(header + 28);
    if (bytes.readUInt16LE(at + 10) === 0) left -= packed;
    else left -= unpackedLength(bytes.subarray(data, data + packed), left);
    if (left < 0) throw tooLarge();
    at += 46 + bytes.readUInt16LE(at + 28) + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
}

function unpackedLength(packed: Buffer, atMost: number): number {
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, atMost) }).length;
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge() : damaged();
  }
}

const tooLarge = () => new UnreadableFile(`unpacks to more than ${maxUnpackedBytes} bytes`);
const damaged = () => new UnreadableFile('is damaged');
