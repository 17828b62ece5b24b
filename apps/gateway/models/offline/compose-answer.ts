// The answer from what tools returned: what was asked for, a bounded quotation, or why it failed. It says nothing that is
// not in the results, and that it comes from a rule-based model.
import { findEntities, MASK } from './find-entities.js';
import { EFFECTS, THINGS } from './lexicon.js';
import { isMissing, parseJson, type Conversation, type Step } from './read-conversation.js';
import { factsAsked, factsIn, resultText, type Fact } from './read-result.js';
import { hasHan, readWords, splitName, termsOf, type Words } from './words.js';

const MOST_QUOTED = 4000;
const ASKS =
  /[?？]|告诉|说说|是什么|多少|哪|谁|什么|提取|找出|几|\b(?:what|which|who|whose|when|where|how|tell|give|extract|get)\b|的\p{Script=Han}{1,6}[。！]?\s*$/iu;
const TIMES = /time|date|clock|day|hour|时间|日期|几点|几号|星期|周几/i;

export const SIGNATURE = {
  zh: '（以上由离线模型按规则作答）',
  en: '(Answered by the offline model, which follows rules.)',
};

export function answerFromResults(conversation: Conversation): string {
  const { request, language, steps } = conversation;
  const asked = askedWords(request);
  const parts = steps
    .filter((step) => step.result !== undefined)
    .map((step, at, all) => answerForStep(step, { request, language, asked, isLast: at === all.length - 1 }));
  const unanswered = steps
    .filter((step) => step.result === undefined)
    .map((step) =>
      language === 'zh' ? `\`${step.name}\` 还没有返回结果。` : `\`${step.name}\` has not returned a result yet.`,
    );
  return [...new Set([...parts, ...unanswered].map((part) => part.trimStart())), SIGNATURE[language]].join('\n\n');
}

/** An answer from results of earlier turns, when the request asks for a member of theirs. */
export function answerFromBefore(conversation: Conversation): string | undefined {
  const asked = askedWords(conversation.request);
  if (!ASKS.test(conversation.request)) return undefined;
  for (const step of [...conversation.before].reverse()) {
    if (step.result === undefined || step.failed) continue;
    const facts = factsAsked(factsIn(step.result), asked, ignoredFor(step));
    if (facts.length > 0) return `${sayFacts(facts, asked, conversation)}\n\n${SIGNATURE[conversation.language]}`;
  }
  return undefined;
}

/** The request's words without its names and addresses. */
export function askedWords(request: string): Words {
  return readWords(findEntities(request.slice(0, 20_000)).masked.replaceAll(MASK, ' '));
}

interface StepContext {
  request: string;
  language: 'zh' | 'en';
  asked: Words;
  isLast: boolean;
}

function answerForStep(step: Step, context: StepContext): string {
  const { language, asked, request } = context;
  const zh = language === 'zh';
  if (step.failed) return sayFailure(step, zh);
  const result = step.result ?? '';
  if (result.trim() === '')
    return zh ? `${subject(step, true)}已完成，结果是空的。` : `${subject(step, false)} is done; the result is empty.`;
  if (isEffect(step)) {
    const brief = result.length <= 300 ? `${zh ? '：' : ': '}${result.trim()}` : zh ? '。' : '.';
    return zh ? `已完成${subject(step, true)}${brief}` : `Done: ${subject(step, false)}${brief}`;
  }
  const moment = momentIn(step, request);
  if (moment !== undefined) return sayMoment(moment, zh);
  const counted = countIn(resultText(result), request, zh);
  if (counted !== undefined) return counted;
  if (ASKS.test(request)) {
    const all = factsIn(result);
    const facts = factsAsked(all, asked, ignoredFor(step));
    if (facts.length > 0) return sayFacts(facts, asked, context);
  }
  const text = resultText(result);
  const quoted =
    text.length > MOST_QUOTED
      ? `${text.slice(0, MOST_QUOTED)}\n…${zh ? `（共 ${text.length} 个字符）` : ` (${text.length} characters in all)`}`
      : text;
  return `${zh ? `${subject(step, true)}的结果：` : `Result of ${subject(step, false)}:`}\n\n${quoted}`;
}

/** The tool and the one argument that says most of what it was called for. */
function subject(step: Step, zh: boolean): string {
  const text = Object.values(step.arguments).find(
    (value): value is string => typeof value === 'string' && value.length > 0 && value.length <= 200,
  );
  if (text === undefined) return zh ? ` \`${step.name}\` ` : `\`${step.name}\``;
  return zh ? ` \`${step.name}\`（${text}）` : `\`${step.name}\` (${text})`;
}

function sayFailure(step: Step, zh: boolean): string {
  const value = parseJson(step.result ?? '');
  let reason = (step.result ?? '').trim();
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const error = value['error'] ?? value['message'];
    const inner = typeof error === 'object' && error !== null && !Array.isArray(error) ? error['message'] : error;
    if (typeof inner === 'string') reason = inner;
  }
  const said = reason.length > 500 ? `${reason.slice(0, 500)}…` : reason;
  const thing = Object.values(step.arguments).find(
    (argument): argument is string => typeof argument === 'string' && argument.length <= 200,
  );
  if (isMissing(reason) && thing !== undefined)
    return zh
      ? `${thing} 不存在：\`${step.name}\` 返回“${said}”。`
      : `${thing} does not exist: \`${step.name}\` returned “${said}”.`;
  if (isMissing(reason)) return zh ? `所要的内容不存在：${said}` : `It does not exist: ${said}`;
  return zh ? `${subject(step, true)}执行失败：${said}` : `${subject(step, false)} failed: ${said}`;
}

function isEffect(step: Step): boolean {
  const { actions } = readWords(splitName(step.name));
  return [...actions].some((action) => EFFECTS.has(action));
}

/** A tool named for a thing returns that thing: its name asks for all of it, not for one member. */
function ignoredFor(step: Step): Set<string> {
  return new Set(['file', 'content', 'web', 'result', 'directory', ...readWords(splitName(step.name)).things]);
}

function sayFacts(facts: readonly Fact[], asked: Words, context: { request: string; language: 'zh' | 'en' }): string {
  const zh = context.language === 'zh';
  return facts
    .map((fact) => {
      const said = spokenName(fact, asked, context.request);
      const name = said === undefined || facts.length > 1 ? fact.path : said;
      return zh
        ? `${name}${hasHan(name) ? '' : ' '}是 ${fact.value}。`
        : `${facts.length > 1 ? '' : 'The '}${name} is ${fact.value}.`;
    })
    .join('\n');
}

/** The user's own word for a member, so that the answer speaks as the question did. */
function spokenName(fact: Fact, asked: Words, request: string): string | undefined {
  const lower = request.toLowerCase();
  const things = [...readWords(splitName(fact.key)).things].filter((thing) => asked.things.has(thing));
  const terms = things
    .flatMap((thing) => termsOf(THINGS[thing as keyof typeof THINGS]))
    .filter((term) => lower.includes(term) && (hasHan(term) || term.length > 2));
  return terms.sort((left, right) => right.length - left.length)[0];
}

function countIn(text: string, request: string, zh: boolean): string | undefined {
  const say = (count: number, zhUnit: string, enUnit: string) =>
    zh ? `一共有 ${count} ${zhUnit}。` : `There are ${count} ${enUnit}.`;
  if (/多少行|几行|行数|how many lines|(?:line count|number of lines|count (?:the )?lines)/i.test(request)) {
    return say(text.split(/\r?\n/).length - (text.endsWith('\n') ? 1 : 0), '行', 'lines');
  }
  if (/多少(?:个)?(?:字符|字)|字数|how many (?:characters|letters)/i.test(request))
    return say(Array.from(text).length, '个字符', 'characters');
  if (/多少(?:个)?(?:单词|词)|how many words|word count|count (?:the )?words/i.test(request))
    return say((text.match(/\p{Script=Han}|[\p{L}\d'’-]+/gu) ?? []).length, '个词', 'words');
  if (/多少个|几个|how many/i.test(request)) {
    const value = parseJson(text);
    if (Array.isArray(value)) return say(value.length, '项', 'items');
  }
  return undefined;
}

interface MomentFound {
  date: Date;
  /** As the tool wrote it, when that names a zone of its own. */
  zone: string;
  withTime: boolean;
}

/** A point in time in a result: epoch milliseconds or seconds, or ISO text, of a tool or question about time. */
function momentIn(step: Step, request: string): MomentFound | undefined {
  if (!TIMES.test(splitName(step.name)) && !/日期|几点|几号|时间|\b(?:date|time)\b/i.test(request)) return undefined;
  const result = (step.result ?? '').trim();
  if (result.length > 2000) return undefined;
  const texts = [
    result,
    ...factsIn(result)
      .filter((fact) => /iso|time|date|now|stamp|ms|epoch|value|result/i.test(fact.key))
      .map((fact) => fact.value),
  ];
  for (const text of texts) {
    const date = /^\d{10}$/.test(text)
      ? Number(text) * 1000
      : /^\d{12,13}(?:\.\d+)?$/.test(text)
        ? Number(text)
        : /^\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?$/.test(text)
          ? Date.parse(text)
          : Number.NaN;
    if (!Number.isFinite(date)) continue;
    const shift = /([+-])(\d{2}):?(\d{2})$/.exec(text.includes('T') ? text : '');
    const minutes = shift === null ? 0 : (shift[1] === '-' ? -1 : 1) * (Number(shift[2]) * 60 + Number(shift[3]));
    return {
      date: new Date(date + minutes * 60_000),
      zone: shift === null ? 'UTC' : `UTC${shift[0]}`,
      withTime: !/日期|几号|\bdate\b|what day|星期/i.test(request),
    };
  }
  return undefined;
}

function sayMoment({ date, zone, withTime }: MomentFound, zh: boolean): string {
  const day = date.toLocaleDateString(zh ? 'zh-CN' : 'en-GB', {
    timeZone: 'UTC',
    weekday: 'long',
    year: 'numeric',
    month: 'long',
    day: 'numeric',
  });
  const iso = date.toISOString().slice(0, 10);
  const time = withTime ? ` ${date.toISOString().slice(11, 19)}` : '';
  return zh ? `是 ${day}${time}（${iso}，${zone}）。` : `It is ${day}${time} (${iso}, ${zone}).`;
}
