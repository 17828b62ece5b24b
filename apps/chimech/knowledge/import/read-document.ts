// A file's bytes as a document, by the ending of its name. Every failure is an UnreadableFile: libraries say it in their words.
import { extname } from 'node:path';
import { decodeText } from './decode-text.js';
import { maxTextLength, type ReadDocument, UnreadableFile } from './documents.js';
import { declaredEncoding, readHtml } from './read-html.js';
import { paragraphsOf } from './paragraphs.js';

/** @throws UnreadableFile */
export async function readDocument(path: string, bytes: Buffer): Promise<ReadDocument> {
  if (bytes.length === 0) throw new UnreadableFile('is empty');
  const document = await read(extname(path).toLowerCase(), bytes).catch((error: unknown) => {
    throw error instanceof UnreadableFile ? error : new UnreadableFile('is damaged', { cause: error });
  });
  if (document.blocks.length === 0) throw new UnreadableFile('has no text');
  return document;
}

async function read(format: string, bytes: Buffer): Promise<ReadDocument> {
  // Each of these is loaded with the first file of its kind.
  if (format === '.pdf') return (await import('./read-pdf.js')).readPdf(bytes);
  if (format === '.docx') return (await import('./read-docx.js')).readDocx(bytes);
  if (/^\.x?html?$/.test(format)) return readHtml(decodeText(bytes, declaredEncoding(bytes)));
  const text = decodeText(bytes);
  if (text.length > maxTextLength) throw new UnreadableFile(`has more text than ${maxTextLength} characters`);
  if (/^\.(?:md|markdown)$/.test(format)) return (await import('./read-markdown.js')).readMarkdown(text);
  return { blocks: paragraphsOf(text) };
}
