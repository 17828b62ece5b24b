// Writes the offline model's text after calls: the requested part of the results, a bounded quotation, or the error.
import { mostRead, type Plan } from './choose-calls.js';
import { isMissing, type Conversation, type Step } from './conversation.js';
import { findValues, mask } from './find-values.js';
import { effects, thingWords } from './lexicon.js';
import { asksDate, asksTime, sayDay, setup } from './plain-answer.js';
import { asks } from './read-request.js';
import { factsAsked, factsIn, resultText, type Fact } from './read-result.js';
import { hasHan, readWords, splitName, termsOf, type Words } from './words.js';

const wholeWords = ['file', 'content', 'text', 'web', 'result', 'directory'];
const mostQuoted = 4000;
const mostReason = 500;
const mostBrief = 300;
const signature = { zh: '（以上由离线模型按规则作答）', en: '(Answered by the offline model, which follows rules.)' };

export function answerText(conversation: Conversation, plan: Plan, plain: () => string): string {
  const { steps, before, language } = conversation;
  const { lacking } = plan;
  const zh = language === 'zh';
  if (steps.length > 0) {
    const said = [...new Set(steps.map((step) => sayStep(step, conversation)))];
    return [...said, ...(plan.undone.length === 0 ? [] : [sayUndone(plan, zh)]), signature[language]].join('\n\n');
  }
  if (lacking !== undefined) {
    const names = lacking.missing.slice(0, 8).join(zh ? '、' : ', ');
    return zh
      ? `什么都没有做：最接近的工具是 \`${lacking.name}\`，但请求里没有写明：${names}。请逐字写出；我按规则工作，不会自己编写内容。${setup.zh}（离线模型）`
      : `Nothing of this was done: the nearest tool is \`${lacking.name}\`, but the request does not give: ${names}. Please write it out; I follow rules, I am no language model, and compose nothing. ${setup.en} (offline model)`;
  }
  for (const step of before.toReversed()) {
    const known = step.failed ? undefined : sayFacts(step, conversation);
    if (known !== undefined) return `${known}\n\n${signature[language]}`;
  }
  return plain();
}

function sayUndone({ undone, cannot = false }: Plan, zh: boolean): string {
  const quoted = undone.map((part) => `“${part.length > mostBrief ? `${part.slice(0, mostBrief)}…` : part}”`);
  if (zh) return `没有做：${quoted.join('、')}。${cannot ? `我按规则工作，做不了这部分。${setup.zh}` : ''}`;
  const why = cannot ? ` I follow rules, I am no language model, and cannot do that part. ${setup.en}` : '';
  return `Not done: ${quoted.join(', ')}.${why}`;
}

/** The request's words without its paths, URLs and other values. */
export function askedWords(request: string): Words {
  return readWords(findValues(request.slice(0, mostRead), 0).masked.replaceAll(mask, ' '));
}

function sayStep(step: Step, conversation: Conversation): string {
  const zh = conversation.language === 'zh';
  const { result } = step;
  const thing = Object.values(step.arguments).find(
    (value): value is string => typeof value === 'string' && value.length > 0 && value.length <= 200,
  );
  // The tool and its first short argument.
  const subject = `\`${step.name}\`${thing === undefined ? '' : zh ? `（${thing}）` : ` (${thing})`}`;
  if (result === undefined) return zh ? `${subject} 还没有返回结果。` : `${subject} has not returned a result yet.`;
  if (step.failed) {
    const reason = result.length > mostReason ? `${result.slice(0, mostReason)}…` : result.trim();
    if (!isMissing(reason)) return zh ? `${subject} 执行失败：${reason}` : `${subject} failed: ${reason}`;
    return zh
      ? `${thing ?? '所要的内容'} 不存在：\`${step.name}\` 返回“${reason}”。`
      : `${thing ?? 'It'} does not exist: \`${step.name}\` returned “${reason}”.`;
  }
  if (result.trim() === '') return zh ? `${subject} 已完成，结果是空的。` : `${subject} is done; the result is empty.`;
  if ([...readWords(splitName(step.name)).actions].some((action) => effects.has(action))) {
    const brief = result.length > mostBrief ? '' : result.trim();
    if (brief === '') return zh ? `已完成 ${subject}。` : `Done: ${subject}.`;
    return zh ? `已完成 ${subject}：${brief}` : `Done: ${subject}: ${brief}`;
  }
  return sayMoment(step, conversation) ?? sayFacts(step, conversation) ?? quote(subject, result, zh);
}

function quote(subject: string, result: string, zh: boolean): string {
  const text = resultText(result);
  const size = zh ? `（共 ${text.length} 个字符）` : ` (${text.length} characters in all)`;
  const quoted = text.length > mostQuoted ? `${text.slice(0, mostQuoted)}\n…${size}` : text;
  return `${zh ? `${subject} 的结果：` : `Result of ${subject}:`}\n\n${quoted}`;
}

function sayFacts(step: Step, { request, language }: Conversation): string | undefined {
  if (step.result === undefined || !asks.test(request)) return undefined;
  // Words in the tool's name ask for the whole result, not for one member of it.
  const ignored = new Set([...wholeWords, ...readWords(splitName(step.name)).things]);
  const asked = askedWords(request);
  const facts = factsAsked(factsIn(step.result), asked, ignored);
  const said = facts.map((fact) => {
    const name = facts.length > 1 ? fact.path : (requestedName(fact, asked, request) ?? fact.path);
    if (language === 'zh') return `${name}${hasHan(name) ? '' : ' '}是 ${fact.value}。`;
    return `${facts.length > 1 ? '' : 'The '}${name} is ${fact.value}.`;
  });
  return said.length === 0 ? undefined : said.join('\n');
}

/** The user's own word for a member, for use in the answer: 版本号 for `version`. */
function requestedName(fact: Fact, asked: Words, request: string): string | undefined {
  return [...readWords(splitName(fact.key)).things]
    .filter((thing) => asked.things.has(thing))
    .flatMap((thing) => termsOf(thingWords[thing as keyof typeof thingWords]))
    .filter((term) => term.length > 1 && request.toLowerCase().includes(term))
    .sort((left, right) => right.length - left.length)[0];
}

const timeTool = /time|date|clock|时间|日期/i;
/** ISO text, or as `get_time` writes it: `Friday, 2026-01-02 08:00:00 UTC+08:00 (Asia/Shanghai)`. */
const wallTime =
  /^(?:\p{L}+, )?(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?)[.\d]*(?:Z| UTC)?([+-]\d{2}:\d{2})?(?: \(([\w/+-]+)\))?$/u;
const epoch = /^\d{10}(?:\d{3})?$/;
const zones: ReadonlySet<unknown> = new Set(Intl.supportedValuesOf('timeZone'));

/** Says the time in a short result, in the zone that was asked for, if the tool or question is about time. */
function sayMoment(
  { name, arguments: given, result = '' }: Step,
  { request, language }: Conversation,
): string | undefined {
  if (result.length > 2000 || !(asksDate.test(request) || asksTime.test(request) || timeTool.test(name)))
    return undefined;
  const texts = [...result.split('\n'), ...factsIn(result).map((fact) => fact.value)].map((text) => text.trim());
  const zone = Object.values(given).find((value): value is string => zones.has(value));
  const [, day, time = '', offset = '', place = zone] = texts.map((text) => wallTime.exec(text)).find(Boolean) ?? [];
  const stamp = texts.find((text) => epoch.test(text));
  if (day === undefined && stamp === undefined) return undefined;
  const at = new Date(day === undefined ? Number(stamp!.padEnd(13, '0')) : `${day}T${time}Z`);
  if (Number.isNaN(at.getTime())) return undefined;
  // A wall time is that of its zone already; an epoch is shown in the zone of the call.
  const shownIn = day === undefined ? (zone ?? 'UTC') : 'UTC';
  const clock = at.toLocaleTimeString('en-GB', { timeZone: shownIn });
  const wants = asksTime.test(request) || !asksDate.test(request);
  const said = `${sayDay(at, shownIn, language)}${wants ? ` ${clock}` : ''}`;
  const iso = day ?? at.toLocaleDateString('sv-SE', { timeZone: shownIn });
  const where = [
    iso,
    day === undefined ? zone : place,
    day !== undefined || zone === undefined ? `UTC${offset}` : undefined,
  ];
  const exact = where.filter(Boolean).join(language === 'zh' ? '，' : ', ');
  return language === 'zh' ? `是 ${said}（${exact}）。` : `It is ${said} (${exact}).`;
}
