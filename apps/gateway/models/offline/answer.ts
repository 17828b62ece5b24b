// Writes the offline model's text. After calls: the requested part of the results, a bounded quotation, or the error.
// Without calls: a greeting, arithmetic, the time, the user's name, or how to configure a real model. It invents nothing,
// and says that it follows rules.
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import { arithmeticIn, calculate } from './calculate.js';
import { maxRequest, type Plan } from './choose-tools.js';
import { isMissing, parseJson, type Conversation, type Step } from './conversation.js';
import { findEntities, maskCharacter } from './entities.js';
import { effects, thingWords } from './lexicon.js';
import { factsAsked, factsIn, resultText, type Fact } from './read-result.js';
import { isGreeting } from './read-request.js';
import { hasHan, readWords, splitName, termsOf, type Words } from './words.js';

export interface AnswerContext {
  tools: readonly ToolDefinition[];
  lacking: Plan['lacking'];
  now: number;
}

const mostQuoted = 4000;
const askWords =
  /[?？]|告诉|说说|是什么|多少|哪|谁|什么|提取|找出|几|\b(?:what|which|who|whose|when|where|how|tell|give|extract|get)\b|的\p{Script=Han}{1,6}[。！]?\s*$/iu;
const asksDate = /几号|日期|星期|周几|\bdate\b|\bwhat(?:'s| is)? (?:the )?day\b/i;
const asksTime = /几点|时间|\btime\b/i;
const timeTool = /time|date|clock|时间|日期/i;
const signature = {
  zh: '（以上由离线模型按规则作答）',
  en: '(Answered by the offline model, which follows rules.)',
};
const setup = {
  zh: '要接入真正的模型，请设置 OPENAI_API_KEY、ANTHROPIC_API_KEY、GEMINI_API_KEY、DEEPSEEK_API_KEY 或 OLLAMA_BASE_URL，或在 signalbox.yaml 的 models.providers 中配置。',
  en: 'For a real one set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, DEEPSEEK_API_KEY or OLLAMA_BASE_URL, or configure models.providers in signalbox.yaml.',
};

export function answerText(conversation: Conversation, context: AnswerContext): string {
  const { steps, before, language } = conversation;
  const zh = language === 'zh';
  if (steps.length > 0) {
    const parts = steps.map((step) => sayStep(step, conversation).trimStart());
    return [...new Set(parts), signature[language]].join('\n\n');
  }
  if (context.lacking !== undefined) {
    const names = context.lacking.missing.slice(0, 8).join(zh ? '、' : ', ');
    return zh
      ? `可以用 \`${context.lacking.name}\` 来做，但还缺少参数：${names}。请补充。（离线模型）`
      : `\`${context.lacking.name}\` can do this, but the request does not say: ${names}. Please add it. (offline model)`;
  }
  for (const step of before.toReversed()) {
    const said = step.failed ? undefined : sayFactsAsked(step, conversation);
    if (said !== undefined) return `${said}\n\n${signature[language]}`;
  }
  return plainAnswer(conversation, context, zh);
}

/** The request's words without its paths, URLs and other entities. */
export function askedWords(request: string): Words {
  return readWords(findEntities(request.slice(0, maxRequest)).masked.replaceAll(maskCharacter, ' '));
}

function sayStep(step: Step, conversation: Conversation): string {
  const { request } = conversation;
  const zh = conversation.language === 'zh';
  const { result } = step;
  const thing = Object.values(step.arguments).find(
    (value): value is string => typeof value === 'string' && value.length > 0 && value.length <= 200,
  );
  // The tool and its first short argument.
  const subject = `\`${step.name}\`${thing === undefined ? '' : zh ? `（${thing}）` : ` (${thing})`}`;
  if (result === undefined) return zh ? `${subject} 还没有返回结果。` : `${subject} has not returned a result yet.`;
  if (step.failed) {
    const reason = failureIn(result);
    if (!isMissing(reason)) return zh ? `${subject} 执行失败：${reason}` : `${subject} failed: ${reason}`;
    return zh
      ? `${thing ?? '所要的内容'} 不存在：\`${step.name}\` 返回“${reason}”。`
      : `${thing ?? 'It'} does not exist: \`${step.name}\` returned “${reason}”.`;
  }
  if (result.trim() === '') return zh ? `${subject} 已完成，结果是空的。` : `${subject} is done; the result is empty.`;
  if ([...readWords(splitName(step.name)).actions].some((action) => effects.has(action))) {
    const brief = result.length > 300 ? '' : result.trim();
    if (brief === '') return zh ? `已完成 ${subject}。` : `Done: ${subject}.`;
    return zh ? `已完成 ${subject}：${brief}` : `Done: ${subject}: ${brief}`;
  }
  const text = resultText(result);
  const said = sayMoment(step, request, zh) ?? countIn(text, request, zh) ?? sayFactsAsked(step, conversation);
  if (said !== undefined) return said;
  const more = zh ? `（共 ${text.length} 个字符）` : ` (${text.length} characters in all)`;
  const quoted = text.length > mostQuoted ? `${text.slice(0, mostQuoted)}\n…${more}` : text;
  return `${zh ? `${subject} 的结果：` : `Result of ${subject}:`}\n\n${quoted}`;
}

function failureIn(result: string): string {
  const value = parseJson(result) as { error?: unknown; message?: unknown } | null | undefined;
  const error = value?.error ?? value?.message;
  const inner = (error as { message?: unknown } | undefined)?.message ?? error;
  const reason = typeof inner === 'string' ? inner : result.trim();
  return reason.length > 500 ? `${reason.slice(0, 500)}…` : reason;
}

function sayFactsAsked(step: Step, { request, language }: Conversation): string | undefined {
  if (step.result === undefined || !askWords.test(request)) return undefined;
  // Words in the tool's name ask for the whole result, not for one member of it.
  const ignored = new Set(['file', 'content', 'web', 'result', 'directory', ...readWords(splitName(step.name)).things]);
  const asked = askedWords(request);
  const facts = factsAsked(factsIn(step.result), asked, ignored);
  if (facts.length === 0) return undefined;
  const say = (fact: Fact) => {
    const name = facts.length > 1 ? fact.path : (requestedName(fact, asked, request) ?? fact.path);
    if (language === 'zh') return `${name}${hasHan(name) ? '' : ' '}是 ${fact.value}。`;
    return `${facts.length > 1 ? '' : 'The '}${name} is ${fact.value}.`;
  };
  return facts.map(say).join('\n');
}

/** The user's own word for a member, for use in the answer. */
function requestedName(fact: Fact, asked: Words, request: string): string | undefined {
  const lower = request.toLowerCase();
  return [...readWords(splitName(fact.key)).things]
    .filter((thing) => asked.things.has(thing))
    .flatMap((thing) => termsOf(thingWords[thing as keyof typeof thingWords]))
    .filter((term) => lower.includes(term) && (hasHan(term) || term.length > 2))
    .sort((left, right) => right.length - left.length)[0];
}

const asksLines = /多少行|几行|行数|how many lines|line count|number of lines/i;

function countIn(text: string, request: string, zh: boolean): string | undefined {
  if (!asksLines.test(request)) return undefined;
  const count = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  return zh ? `一共有 ${count} 行。` : `There are ${count} lines.`;
}

/** Reads a time (epoch seconds or milliseconds, or ISO text) from a short result, if the tool or question is about time. */
function sayMoment(step: Step, request: string, zh: boolean): string | undefined {
  const result = step.result!.trim();
  const asks = asksDate.test(request) || asksTime.test(request);
  if (result.length > 2000 || !(asks || timeTool.test(step.name))) return undefined;
  for (const text of [result, ...factsIn(result).map((fact) => fact.value)]) {
    const isIso = /^\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:\d{2})?$/.test(text);
    if (!isIso && !/^\d{10}(?:\d{3})?$/.test(text)) continue;
    const shift = isIso ? /[+-]\d{2}:\d{2}$/.exec(text)?.[0] : undefined;
    // Keep the local time of the text's offset.
    const wall = isIso && shift !== undefined ? `${text.slice(0, -6)}Z` : text;
    const at = new Date(isIso ? wall : Number(text) * (text.length === 10 ? 1000 : 1));
    if (Number.isNaN(at.getTime())) continue;
    const iso = at.toISOString();
    const time = asksDate.test(request) ? '' : ` ${iso.slice(11, 19)}`;
    const about = [`${dayIn('UTC', at, zh)}${time}`, iso.slice(0, 10), `UTC${shift ?? ''}`] as const;
    return zh ? `是 ${about[0]}（${about[1]}，${about[2]}）。` : `It is ${about[0]} (${about[1]}, ${about[2]}).`;
  }
  return undefined;
}

const dayFormat = { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' } as const;

function dayIn(timeZone: string, at: Date, zh: boolean): string {
  return at.toLocaleDateString(zh ? 'zh-CN' : 'en-GB', { timeZone, ...dayFormat });
}

function plainAnswer(conversation: Conversation, { tools, now }: AnswerContext, zh: boolean): string {
  const request = conversation.request.slice(0, maxRequest).trim();
  if (request === '') return zh ? '请告诉我要做什么。（离线模型）' : 'Please tell me what to do. (offline model)';
  if (/^(?:thanks|thank you|谢谢|多谢)/i.test(request))
    return zh ? '不客气！（离线模型）' : "You're welcome! (offline model)";
  if (isGreeting(request))
    return zh
      ? `你好！我是 Signalbox 自带的离线模型：不需要密钥和网络，按规则选择并调用工具（读写文件、抓取网址、查询时间等），再根据结果作答。${setup.zh}`
      : `Hello! I am the offline model that ships with Signalbox: without key or network I choose tools by rules (files, addresses, times and whatever you offer) and answer from their results. ${setup.en}`;
  const small = sum(request, zh) ?? remembered(conversation, zh) ?? timeNow(request, now, zh) ?? echo(request);
  if (small !== undefined) return small;
  const names = tools.slice(0, 8).map((tool) => `\`${tool.name}\``);
  if (zh)
    return `我是离线模型，只按规则工作，不是语言模型，回答不了这个问题。${names.length === 0 ? '' : `提供的工具（${names.join('、')}）中也没有合适的。`}${setup.zh}`;
  return `I am the offline model: I follow rules, I am no language model, and cannot answer this. ${names.length === 0 ? '' : `None of the offered tools (${names.join(', ')}) fits either. `}${setup.en}`;
}

function sum(request: string, zh: boolean): string | undefined {
  const expression = arithmeticIn(request);
  const value = expression === undefined ? undefined : calculate(expression);
  return value === undefined ? undefined : `${expression} = ${value} ${zh ? '（离线模型）' : '(offline model)'}`;
}

const asksNow =
  /几号|日期|几点|星期几|周几|什么时间|\bwhat(?:'s| is)? (?:the )?(?:time|date|day)\b|\btoday'?s date\b|\bdate (?:today|yesterday|tomorrow)\b/i;
const mostZones = 4;

function timeNow(request: string, now: number, zh: boolean): string | undefined {
  if (!asksNow.test(request)) return undefined;
  const { moments, timeZones } = findEntities(request);
  const at = new Date(now + (moments.find((moment) => moment.offsetMs !== undefined)?.offsetMs ?? 0));
  const named = [...new Set(timeZones.map((zone) => zone.text))].filter(isTimeZone).slice(0, mostZones);
  const said = (named.length === 0 ? ['UTC'] : named).map((timeZone) => {
    const clock = at.toLocaleTimeString('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' });
    const moment = `${dayIn(timeZone, at, zh)}${asksTime.test(request) ? ` ${clock}` : ''}`;
    return zh ? `${moment}（${timeZone}）` : `${moment} (${timeZone})`;
  });
  return zh ? `是 ${said.join('；')}。（离线模型）` : `It is ${said.join('; ')}. (offline model)`;
}

function isTimeZone(timeZone: string): boolean {
  try {
    return new Date(0).toLocaleString('en', { timeZone }) !== '';
  } catch {
    return false;
  }
}

function echo(request: string): string | undefined {
  return (
    /^(?:please\s+)?(?:say|repeat|echo)\s*[:：]?\s+["“]?([^"”]{1,2000})["”]?$/i.exec(request)?.[1] ??
    /^请?(?:重复|复述|说)[:：\s]*[“"「]?([^”"」]{1,2000})[”"」]?$/.exec(request)?.[1]
  );
}

const asksName = /我叫什么|我的名字|我是谁|what(?:'s| is) my name|who am i/i;
const saysName = /(?:我叫|我的名字[是叫]|\bmy name is|\bi am called|\bcall me)\s?([\p{L}\d·'-]{1,40})/iu;

function remembered({ request, said }: Conversation, zh: boolean): string | undefined {
  if (!asksName.test(request)) return undefined;
  const name = said.map((text) => saysName.exec(text)?.[1]).findLast((one) => one !== undefined);
  if (name === undefined) return undefined;
  return zh ? `你叫${name}。（离线模型）` : `Your name is ${name}. (offline model)`;
}
