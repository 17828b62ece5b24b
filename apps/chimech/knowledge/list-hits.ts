// A result as text, for models and people: a short list in the language of the query.
import type { SearchResult } from './search-input.js';

export function listHits({ hits, total }: Omit<SearchResult, 'text'>, offset: number, language: 'zh' | 'en'): string {
  const words = language === 'zh' ? chinese : english;
  if (hits.length === 0) return total === 0 ? words.none : words.beyond(total);
  const lines = hits.map(({ title, snippet, source, category, date, url }, index) => {
    const origin = [source, category, date.slice(0, 10), ...(url === undefined ? [] : [url])].join(' · ');
    return `${offset + index + 1}. ${title} (${origin})\n   ${snippet}`;
  });
  return [words.head(offset + 1, offset + hits.length, total), ...lines].join('\n');
}

const english = {
  none: 'Nothing found. Try other or fewer words, or wider filters.',
  beyond: (total: number) => `No hits at this offset: there are only ${total}.`,
  head: (first: number, last: number, total: number) => `Hits ${first} to ${last} of ${total}:`,
};

const chinese: typeof english = {
  none: '没有找到结果。请换用其他或更少的词，或放宽筛选条件。',
  beyond: (total) => `此偏移处没有结果：共有 ${total} 条。`,
  head: (first, last, total) => `第 ${first} 至 ${last} 条结果，共 ${total} 条：`,
};
