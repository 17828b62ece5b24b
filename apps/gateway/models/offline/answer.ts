// Writes the offline model's text: the calls' outcomes, the requested part of the results, what was not done, or how to
// configure a real model. Invents nothing, and says that rules wrote the text.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { fillArguments, membersOf } from './fill-arguments.js';
import { mostRead, readTool, satisfies, type Plan } from './plan-calls.js';
import {
  factsAsked,
  factsIn,
  missing,
  resultText,
  type ConversationState,
  type Step,
} from './read-conversation-state.js';
import { isGreeting, isQuestion, readClause } from './read-request.js';
import { effects } from './vocabulary.js';
import { hasHan, splitName, termsOf, type Token } from './words.js';

const mostQuoted = 4000;
const mostReason = 500;
const mostBrief = 300;
const setup = {
  zh: '要接入真正的模型，请设置 OPENAI_API_KEY、ANTHROPIC_API_KEY、GEMINI_API_KEY、DEEPSEEK_API_KEY 或 OLLAMA_BASE_URL，或在 signalbox.yaml 的 models.providers 中配置。',
  en: 'For a real one set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, DEEPSEEK_API_KEY or OLLAMA_BASE_URL, or configure models.providers in signalbox.yaml.',
};
const signature = { zh: '（以上由离线模型按规则作答）', en: '(Answered by the offline model, which follows rules.)' };

export function answerText(conversation: ConversationState, plan: Plan, hasTools: boolean): string {
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
  return plainAnswer(conversation, hasTools);
}

function plainAnswer({ request, language }: ConversationState, hasTools: boolean): string {
  const zh = language === 'zh';
  if (request.trim() === '')
    return zh ? '请告诉我要做什么。（离线模型）' : 'Please tell me what to do. (offline model)';
  if (/^(?:thanks|thank you|谢谢|多谢)/i.test(request))
    return zh ? '不客气！（离线模型）' : "You're welcome! (offline model)";
  if (isGreeting(request))
    return zh
      ? `你好！我是 Signalbox 自带的离线模型：不需要密钥和网络，按规则选择并调用工具（读写文件、抓取网址、查询时间等），再根据结果作答。${setup.zh}`
      : `Hello! I am the offline model that ships with Signalbox: without key or network I choose tools by rules (files, addresses, times and whatever you offer) and answer from their results. ${setup.en}`;
  return zh
    ? `我是离线模型，只按规则工作，不是语言模型，回答不了这个问题。${hasTools ? '提供的工具中也没有合适的。' : ''}${setup.zh}`
    : `I am the offline model: I follow rules, am not a language model and cannot answer this. ${hasTools ? 'None of the offered tools fits either. ' : ''}${setup.en}`;
}

function sayUndone({ undone, cannot = false }: Plan, zh: boolean): string {
  const quoted = undone.map((part) => `“${part.length > mostBrief ? `${part.slice(0, mostBrief)}…` : part}”`);
  if (zh) return `没有做：${quoted.join('、')}。${cannot ? `我按规则工作，做不了这部分。${setup.zh}` : ''}`;
  const why = cannot ? ` I follow rules, I am no language model, and cannot do that part. ${setup.en}` : '';
  return `Not done: ${quoted.join(', ')}.${why}`;
}

function sayStep(step: Step, conversation: ConversationState): string {
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
    if (!missing.test(reason)) return zh ? `${subject} 执行失败：${reason}` : `${subject} failed: ${reason}`;
    return zh
      ? `${thing ?? '所要的内容'} 不存在：\`${step.name}\` 返回“${reason}”。`
      : `${thing ?? 'It'} does not exist: \`${step.name}\` returned “${reason}”.`;
  }
  if (result.trim() === '') return zh ? `${subject} 已完成，结果是空的。` : `${subject} is done; the result is empty.`;
  if ([...termsOf(splitName(step.name))].some((term) => effects.has(term))) {
    const brief = result.length > mostBrief ? '' : result.trim();
    if (brief === '') return zh ? `已完成 ${subject}。` : `Done: ${subject}.`;
    return zh ? `已完成 ${subject}：${brief}` : `Done: ${subject}: ${brief}`;
  }
  return sayMoment(step, zh) ?? sayFacts(step, conversation) ?? quote(subject, result, zh);
}

function quote(subject: string, result: string, zh: boolean): string {
  const text = resultText(result);
  const size = zh ? `（共 ${text.length} 个字符）` : ` (${text.length} characters in all)`;
  const quoted = text.length > mostQuoted ? `${text.slice(0, mostQuoted)}\n…${size}` : text;
  return `${zh ? `${subject} 的结果：` : `Result of ${subject}:`}\n\n${quoted}`;
}

/** The request's words without its paths, URLs and other values. */
function askedWords(request: string): Token[] {
  return readClause(request.slice(0, mostRead), 0).tokens;
}

const wholeWords = ['file', 'content', 'web', 'result', 'directory'];
const mostAnswered = 10;

function sayFacts(step: Step, { request, language }: ConversationState): string | undefined {
  if (step.result === undefined || !isQuestion(request)) return undefined;
  // Words in the tool's name ask for the whole result, not for one member of it.
  const ignored = new Set([...wholeWords, ...termsOf(splitName(step.name))]);
  const facts = factsAsked(factsIn(step.result), askedWords(request), ignored).slice(0, mostAnswered);
  const said = facts.map((fact) => {
    const name = facts.length > 1 ? fact.path : fact.word;
    if (language === 'zh') return `${name}${hasHan(name) ? '' : ' '}是 ${fact.value}。`;
    return `${facts.length > 1 ? '' : 'The '}${name} is ${fact.value}.`;
  });
  return said.length === 0 ? undefined : said.join('\n');
}

/** Writes an epoch in a short result as a date and time, in the zone of the call. */
function sayMoment({ arguments: given, result = '' }: Step, zh: boolean): string | undefined {
  const stamp = /^\s*(\d{10}(?:\d{3})?)\s*$/m.exec(result.slice(0, 2000))?.[1];
  if (stamp === undefined) return undefined;
  const at = new Date(Number(stamp.padEnd(13, '0')));
  const timeZone = Object.values(given).find((value): value is string => zones.has(value)) ?? 'UTC';
  const time = at.toLocaleString(zh ? 'zh-CN' : 'en-GB', { dateStyle: 'full', timeStyle: 'medium', timeZone });
  const day = at.toLocaleDateString('sv-SE', { timeZone });
  return zh ? `是 ${time}（${day}，${timeZone}）。` : `It is ${time} (${day}, ${timeZone}).`;
}

const zones: ReadonlySet<unknown> = new Set(Intl.supportedValuesOf('timeZone'));

/** The answer as JSON if `response_format` asks for it: values from the request, harmless ones for the rest. */
export function answerInJson(format: Json | undefined, text: string, request: string, now: number): string | undefined {
  if (!isJsonObject(format)) return undefined;
  const { type, json_schema: wrapper } = format;
  if (type === 'json_object') return JSON.stringify({ answer: text });
  if (type !== 'json_schema' || !isJsonObject(wrapper) || !isJsonObject(wrapper['schema'])) return undefined;
  const tool = readTool({ name: 'answer', parameters: wrapper['schema'] });
  const read = request.slice(0, mostRead);
  const filled = fillArguments({ tool, clause: readClause(read, now), request: read, force: true }).arguments;
  const isText = ({ name, schema }: ReturnType<typeof membersOf>[0]) =>
    schema['type'] === 'string' && /answer|reply|response|message|summary|reason/i.test(name);
  const texts = membersOf(tool.schema).filter(isText).map(({ name }) => [name, text]); // prettier-ignore
  const value = { ...filled, ...Object.fromEntries(texts) } as JsonObject;
  return JSON.stringify(satisfies(tool.schema, value) ? value : filled);
}
