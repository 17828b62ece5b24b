// What is wrong with the arguments of a call, in the language of the caller. zod says it in English only, and for programmers.
import type { ZodError } from 'zod';
import { say, type Language } from '../language.js';

type Issue = ZodError['issues'][number];
type Texts = Record<Language, string>;

const maxIssues = 10;

export function describeIssues(issues: readonly Issue[], language: Language): string {
  const described = issues.slice(0, maxIssues).map((issue) => {
    const path = issue.path.join('.');
    const what = say(language, textsOf(issue));
    return path === '' ? what : `${path} ${what}`;
  });
  return described.join(say(language, { en: '; ', zh: '；' }));
}

const typeNames: Record<string, Texts> = {
  string: { en: 'a text', zh: '文本' },
  number: { en: 'a number', zh: '数字' },
  int: { en: 'a whole number', zh: '整数' },
  boolean: { en: 'true or false', zh: 'true 或 false' },
  array: { en: 'a list', zh: '列表' },
  object: { en: 'an object', zh: '对象' },
};

const empty = { en: 'must not be empty', zh: '不能为空' };
/** What the inputs themselves say of what they refuse. */
const said = new Map([
  [empty.en, empty.zh],
  ['starts after it ends', '的开始时间晚于结束时间'],
  ['must be a date or a time in ISO 8601, such as 2026-03-31', '应为 ISO 8601 日期或时间，例如 2026-03-31'],
]);

function textsOf(issue: Issue): Texts {
  const inChinese = said.get(issue.message);
  if (inChinese !== undefined) return { en: issue.message, zh: inChinese };
  switch (issue.code) {
    case 'invalid_type': {
      if (issue.message.endsWith('received undefined')) return { en: 'is missing', zh: '缺失' };
      const { en, zh } = typeNames[issue.expected] ?? { en: issue.expected, zh: issue.expected };
      return { en: `must be ${en}`, zh: `应为${zh}` };
    }
    case 'invalid_value': {
      const values = issue.values.map(String);
      return { en: `must be one of ${values.join(', ')}`, zh: `应为以下之一：${values.join('、')}` };
    }
    case 'too_small':
      if (issue.origin === 'string' && Number(issue.minimum) === 1) return empty;
      return bound(issue.origin, { en: 'at least', zh: '不少于', number: '不能小于' }, issue.minimum);
    case 'too_big':
      return bound(issue.origin, { en: 'at most', zh: '不超过', number: '不能大于' }, issue.maximum);
    default:
      return { en: 'is not valid', zh: '无效' };
  }
}

function bound(origin: string, words: Texts & { number: string }, limit: number | bigint): Texts {
  const size = String(limit);
  if (origin === 'string')
    return { en: `must have ${words.en} ${size} characters`, zh: `应${words.zh} ${size} 个字符` };
  if (origin === 'array') return { en: `must have ${words.en} ${size} entries`, zh: `应${words.zh} ${size} 项` };
  return { en: `must be ${words.en} ${size}`, zh: `${words.number} ${size}` };
}
