// The text of a PDF, page by page, in paragraphs as far as its lines tell them.
import { extractText, getDocumentProxy, getMeta } from 'unpdf';
import { maxTextLength, type ReadDocument, UnreadableFile } from './documents.js';
import { paragraphsOf } from './paragraphs.js';

export async function readPdf(bytes: Buffer): Promise<ReadDocument> {
  const pdf = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0, isEvalSupported: false }).catch(
    (error: Error) => {
      throw new UnreadableFile(error.name === 'PasswordException' ? 'needs a password' : 'is not a PDF, or is damaged');
    },
  );
  try {
    const { text: pages } = await extractText(pdf, { mergePages: false });
    if (pages.reduce((sum, page) => sum + page.length, 0) > maxTextLength)
      throw new UnreadableFile(`has more text than ${maxTextLength} characters`);
    const blocks = pages.flatMap(paragraphsOf);
    if (blocks.length === 0) throw new UnreadableFile('has no text: run OCR on a scan first');
    const { info } = await getMeta(pdf);
    const title = (info as { Title?: unknown } | undefined)?.Title;
    return { blocks, ...(typeof title === 'string' && title.trim() !== '' && { title: title.trim() }) };
  } finally {
    await pdf.cleanup();
    await pdf.loadingTask.destroy();
  }
}
