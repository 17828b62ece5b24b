// HTML as blocks of text, from a pass over its tags: nothing is nested, so damaged or endlessly deep pages do no harm.
import { Parser } from 'htmlparser2';
import { maxTextLength, type ReadDocument, UnreadableFile } from './documents.js';

/** Their contents are not the document's text. */
const unread = new Set(['script', 'style', 'noscript', 'template', 'svg', 'math', 'iframe', 'nav', 'object', 'select']);
/** They begin and end no block. */
const inline = new Set(
  (
    'a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q rp rt ruby s samp small span ' +
    'strike strong sub sup time tt u var wbr'
  ).split(' '),
);

export function readHtml(html: string): ReadDocument {
  const document: ReadDocument = { blocks: [] };
  let [text, length, title] = ['', 0, ''];
  let [within, skipping, preformatted]: [string, string | undefined, number] = ['', undefined, 0];
  let skipDepth = 0;

  const endBlock = (heading = false) => {
    const block = preformatted > 0 ? text.replace(/^\n+|\s+$/g, '') : text.replace(/\s+/g, ' ').trim();
    text = '';
    if (block === '') return;
    length += block.length;
    if (length > maxTextLength) throw new UnreadableFile(`has more text than ${maxTextLength} characters`);
    document.blocks.push(heading ? { text: block, heading: true } : { text: block });
  };

  const parser = new Parser({
    onopentag(name, attributes) {
      if (skipping !== undefined) {
        if (name === skipping) skipDepth += 1;
        return;
      }
      if (unread.has(name)) {
        [skipping, skipDepth] = [name, 1];
        return;
      }
      if (name === 'meta') readMeta(document, attributes);
      if (name === 'title') within = 'title';
      if (name === 'br') text += preformatted > 0 ? '\n' : ' ';
      else if (name === 'td' || name === 'th') text += ' ';
      else if (!inline.has(name)) endBlock();
      if (name === 'pre') preformatted += 1;
    },
    ontext(data) {
      if (skipping !== undefined) return;
      if (within === 'title') title += data;
      else text += data;
    },
    onclosetag(name) {
      if (skipping !== undefined) {
        if (name === skipping && --skipDepth === 0) skipping = undefined;
        return;
      }
      if (name === 'title') within = '';
      else if (name === 'td' || name === 'th') text += ' ';
      else if (!inline.has(name)) endBlock(/^h[1-6]$/.test(name));
      if (name === 'pre' && preformatted > 0) preformatted -= 1;
    },
  });
  parser.end(html);
  endBlock();
  const named = title.replace(/\s+/g, ' ').trim();
  if (named !== '') document.title = named;
  return document;
}

function readMeta(document: ReadDocument, { name, property, content }: Record<string, string>): void {
  if (content === undefined) return;
  const date = new Date(content);
  const tells = property ?? name;
  if (/^(?:article:published_time|date|dcterms\.date)$/i.test(tells ?? '') && !Number.isNaN(date.getTime()))
    document.date = date;
}

/** The encoding that a page names in its first bytes. */
export function declaredEncoding(bytes: Buffer): string | undefined {
  return /<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*["']?\s*([\w-]{2,40})/i.exec(
    bytes.subarray(0, 2_048).toString('latin1'),
  )?.[1];
}
