// What a question names for example: quoted texts, files, addresses, channels, keys of tickets. Such names are arguments of a tool, not words
// that find it; what kind of thing each names is.

/** Bounded, as all of these are, so that no text makes a search for them slow. */
const quotes = /"[^"\n]{1,200}"|“[^”\n]{1,200}”|「[^」\n]{1,200}」|《[^》\n]{1,200}》|`[^`\n]{1,200}`/g;
const examples: readonly { pattern: RegExp; says: (name: string) => string[] }[] = [
  { pattern: /\bhttps?:\/\/[^\s"'<>，。）]{1,500}/gi, says: () => ['url'] },
  { pattern: /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}/g, says: () => ['email'] },
  { pattern: /\b(?:[a-z0-9-]{1,63}\.){1,4}(?:com|org|net|io|cn|dev|app|edu|gov)\b/gi, says: () => ['url'] },
  {
    pattern:
      /(?<![\w.])[\w./~-]{0,200}\.(?:txt|md|json|ya?ml|toml|ini|log|csv|tsv|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|webp|mp[34]|wav|html?|xml|py|tsx?|jsx|css|sh|sql|zip|gz)\b/gi,
    says: (name) => ['file', name.slice(name.lastIndexOf('.') + 1).toLowerCase()],
  },
  { pattern: /(?<!\S)#[\p{L}][\p{L}\p{N}_-]{0,80}/gu, says: () => ['channel'] },
  { pattern: /\b[A-Z][A-Z0-9]{1,9}-\d{1,7}\b/g, says: () => ['issue'] },
];

/** The text without them, the words for what they are, and what was quoted, which may be meant nevertheless. */
export function withoutExamples(query: string): { text: string; said: string[]; quoted: string } {
  const said: string[] = [];
  const quoted: string[] = [];
  let text = query.replace(quotes, (name) => {
    quoted.push(name);
    return ' ';
  });
  for (const { pattern, says } of examples) {
    text = text.replace(pattern, (name) => {
      said.push(...says(name));
      return ' ';
    });
  }
  return { text, said, quoted: quoted.join(' ') };
}
