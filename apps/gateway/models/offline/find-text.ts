// Finds the free text of a clause: what a parameter's name points at, what to write or send, what to search for.
import { mask } from './find-values.js';
import { thingWords } from './lexicon.js';
import type { Clause } from './read-request.js';
import { hasHan, readWords, splitName, termsOf, topicsOf, type Token } from './words.js';

const quotedValue =
  /^(?:d|ed)?\s{0,3}(?:is|are|as|called|named|to|=|:|：|是|为|叫做?|设为|改为)?\s{0,3}[“"'「《`]([^”"'」》`]{1,2000})[”"'」》`]/i;
const linkedValue =
  /^(?:d|ed)?(?:\s{0,3}[=:：]\s{0,3}|\s{1,3}(?:is|are|as|called|named)\s{1,3}|\s{0,3}(?:设置?[为成]|调到|改[为成]|叫做?|是|为)\s{0,3}[:：]?\s{0,3})(?!什么|多少|谁|哪|(?:the|what|a|an|my|it)\b)([^，,。；;\n？?！!]{1,2000})/i;
const valueEnd = /\.(?:\s|$)|\s(?:and|with|then|but)\s|并且?|然后|$/;
const mostPlaces = 8;

/** The value that a parameter's name is linked with in the clause: `limit=5`, 标题是…, “titled "…"”. */
export function namedValue(name: string, clause: Clause): string | undefined {
  for (const end of placesOf(name, clause)) {
    const after = clause.text.slice(end, end + 2000);
    const linked = linkedValue.exec(after)?.[1];
    const value = quotedValue.exec(after)?.[1] ?? linked?.slice(0, valueEnd.exec(linked)?.index).trim();
    if (value !== undefined && value !== '') return value;
  }
  return undefined;
}

/** The word or topic right behind a parameter's name: “user 42”, “titled Budget review”, 订单 20231105. */
export function valueBehind(name: string, clause: Clause): string | undefined {
  for (const end of placesOf(name, clause)) {
    const [gap, suffix = ''] = /^(d|ed)?\s?/.exec(clause.text.slice(end))!;
    const start = end + (gap.length > suffix.length ? gap.length : 0);
    if (start === end && /[a-z]/i.test(clause.text[end - 1]!)) continue;
    const [topic] = topicsOf(clause.values.masked.slice(start, start + 200));
    if (topic?.start === 0) return topic.text;
    const number = clause.tokens.find((token) => token.start === start && token.kind === 'number');
    if (number !== undefined) return number.text;
  }
  return undefined;
}

/** Where the words of a parameter's name end in the clause. Only whole words; a “d” may follow, as in “titled”. */
function placesOf(name: string, { text }: Clause): number[] {
  const lower = text.toLowerCase();
  return termsForName(name).flatMap((term) => {
    const ends: number[] = [];
    for (let at = lower.indexOf(term); at >= 0 && ends.length < mostPlaces; at = lower.indexOf(term, at + 1)) {
      const end = at + term.length;
      if (hasHan(term) || !(/[a-z\d]/.test(lower[at - 1] ?? '') || /[a-ce-z\d]/.test(lower[end] ?? ''))) ends.push(end);
    }
    return ends;
  });
}

/** The words of a parameter's name, in both languages. */
export function termsForName(name: string): string[] {
  const words = splitName(name).toLowerCase().trim();
  const things = [...readWords(words).things].flatMap((thing) => termsOf(thingWords[thing as keyof typeof thingWords]));
  const bare = words.replace(/ (?:id|name|number|key)s?$/, '');
  return [...new Set([words, bare, ...things])].filter((term) => term.length > 1 || hasHan(term));
}

const said =
  /(?:\b(?:saying(?: that)?|(?:that|which) says|containing|with (?:the )?(?:text|contents?|message|words?|body)(?: of)?)|(?:内容|正文)[是为:：]|写着)\s*[:：]?\s*/i;
const given = [
  /(?:把|将)([^\n]{1,2000}?)(?:追加|翻译|译成|写入|写到|写进|保存|存入|存到|存为|存|写|发|总结|分析|添加|记)/,
  /(?:写入|写上|写下|写进|追加|翻译|添加)(?:一行|一句|文字|文本)?\s?([^\n，。\uFFFC]{1,2000})[。.！!]?$/,
  /\b(?:write|save|store|put|append|add|record|translate|summari[sz]e|analy[sz]e)\s+(?:down\s+)?(?:the\s+(?:text|words?|line|string|sentence|phrase)\s+)?([^\n]{1,2000}?)(?=\s+(?:to|into|in|as|on|onto|from)\s|\s*$)/i,
];
const pointsBack =
  /^(?:it|this|that|them|these|those|both|everything|the|its|their)\b|^(?:它|其|这|那|以上|上面|结果|内容|全文)/i;

/** “a poem”, 一首诗: what somebody would have to compose. */
const described = /^(?:an?|some)\s(?!copy\b)|^[一几两]?[首篇段封份则]/i;

/** The text in the clause to write, send or translate. Undefined if it only refers to something else, null if it describes one. */
export function contentIn({ text, values: { masked, quotes } }: Clause): string | null | undefined {
  const marked = said.exec(masked);
  if (marked !== null && quotes.length === 0) return text.slice(marked.index + marked[0].length).trim();
  if (quotes.length > 0)
    return quotes.reduce((left, right) => (right.text.length > left.text.length ? right : left)).text;
  const colon = /(?<!\d)[:：]\s*(?=\S)/.exec(masked);
  if (colon !== null) return text.slice(colon.index + colon[0].length).trim();
  for (const pattern of given) {
    const found = pattern.exec(masked)?.[1]?.trim().replace(/的$/, '') ?? '';
    // Words like “the weather” or 内容 refer to the result of another step.
    if (found === '' || found.includes(mask) || pointsBack.test(found)) continue;
    if (described.test(found)) return null;
    if (topicsOf(found).length > 0) return found;
  }
  return undefined;
}

/** What to search for. */
export function queryIn(clause: Clause): string | undefined {
  const about = /(?:\b(?:for|about|regarding)\s+|关于|有关)([^\n?.!,;，。；！？\uFFFC]{1,200})/i.exec(
    clause.values.masked,
  )?.[1];
  const query = about?.replace(/\s+(?:in|on|from|using|with|limit|top|please)\b.*$/i, '').replace(/的$/, '');
  return query?.trim() || afterAction(clause, ['other']);
}

/** The text behind the action, from the first word of one of the kinds on: “echo hello world”, 提醒我开会. */
export function afterAction({ tokens, values }: Clause, kinds: readonly Token['kind'][]): string | undefined {
  const at = tokens.findIndex((token) => token.actions.length > 0);
  const isAction = ({ actions }: Token) => actions.some((one) => tokens[at]?.actions.includes(one));
  const first = tokens.slice(at + 1).find((token) => kinds.includes(token.kind) && !isAction(token));
  if (first === undefined) return undefined;
  return /^[^，。？！；,?!;\n\uFFFC]*/.exec(values.masked.slice(first.start))![0].replace(/\.?\s*$/, '');
}
