// What a file becomes on its way into the knowledge base.

/** A paragraph, a heading, a list item, a row of a table, code. Single spaces, no line breaks but in code. */
export interface Block {
  text: string;
  heading?: true;
}

export interface ReadDocument {
  title?: string;
  category?: string;
  date?: Date;
  url?: string;
  blocks: Block[];
}

/** A file that cannot be read, in words that its owner understands; they follow its name. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}

export const formats = ['.md', '.markdown', '.txt', '.text', '.html', '.htm', '.xhtml', '.pdf', '.docx'] as const;

/** Of a file, before and after it is unpacked. */
export const maxFileBytes = 32 * 1024 * 1024;
/** Of a document's text, in characters. */
export const maxTextLength = 4 * 1024 * 1024;
