// Answers without tools: a greeting, the time, the user's name, or how to configure a real model. It invents
// nothing, and says that it follows rules.
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import { mostRead } from './choose-calls.js';
import type { Conversation } from './conversation.js';
import { findValues } from './find-values.js';
import { isGreeting } from './read-request.js';

export const setup = {
  zh: '要接入真正的模型，请设置 OPENAI_API_KEY、ANTHROPIC_API_KEY、GEMINI_API_KEY、DEEPSEEK_API_KEY 或 OLLAMA_BASE_URL，或在 signalbox.yaml 的 models.providers 中配置。',
  en: 'For a real one set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, DEEPSEEK_API_KEY or OLLAMA_BASE_URL, or configure models.providers in signalbox.yaml.',
};

export function plainAnswer(conversation: Conversation, tools: readonly ToolDefinition[], now: number): string {
  const request = conversation.request.slice(0, mostRead).trim();
  const zh = conversation.language === 'zh';
  if (request === '') return zh ? '请告诉我要做什么。（离线模型）' : 'Please tell me what to do. (offline model)';
  if (/^(?:thanks|thank you|谢谢|多谢)/i.test(request))
    return zh ? '不客气！（离线模型）' : "You're welcome! (offline model)";
  if (isGreeting(request))
    return zh
      ? `你好！我是 Signalbox 自带的离线模型：不需要密钥和网络，按规则选择并调用工具（读写文件、抓取网址、查询时间等），再根据结果作答。${setup.zh}`
      : `Hello! I am the offline model that ships with Signalbox: without key or network I choose tools by rules (files, addresses, times and whatever you offer) and answer from their results. ${setup.en}`;
  const known = remembered(conversation) ?? sayTime(conversation, now);
  if (known !== undefined) return known;
  const names = tools.slice(0, 8).map((tool) => `\`${tool.name}\``);
  if (tools.length > names.length) names.push('…');
  if (zh)
    return `我是离线模型，只按规则工作，不是语言模型，回答不了这个问题。${names.length === 0 ? '' : `提供的工具（${names.join('、')}）中也没有合适的。`}${setup.zh}`;
  return `I am the offline model: I follow rules, am not a language model and cannot answer this. ${names.length === 0 ? '' : `None of the offered tools (${names.join(', ')}) fits either. `}${setup.en}`;
}

const asksName = /我叫什么|我的名字|我是谁|what(?:'s| is) my name|who am i/i;
const saysName = /(?:我叫|我的名字[是叫]|\bmy name is|\bi am called|\bcall me)\s?([\p{L}\d·'-]{1,40})/iu;

function remembered({ request, said, language }: Conversation): string | undefined {
  if (!asksName.test(request)) return undefined;
  const name = said.map((text) => saysName.exec(text)?.[1]).findLast((one) => one !== undefined);
  if (name === undefined) return undefined;
  return language === 'zh' ? `你叫${name}。（离线模型）` : `Your name is ${name}. (offline model)`;
}

export const asksDate = /几号|日期|星期|周几|\bdate\b|\bwhat(?:'s| is)? (?:the )?day\b/i;
export const asksTime = /几点|时间|\btime\b/i;
const asksNow =
  /几号|日期|几点|星期几|周几|什么时间|\bwhat(?:'s| is)? (?:the )?(?:time|date|day)\b|\btoday'?s date\b|\bdate (?:today|yesterday|tomorrow)\b/i;
const mostZones = 4;

export function sayDay(at: Date, timeZone: string, language: Conversation['language']): string {
  const format = { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric', timeZone } as const;
  return at.toLocaleDateString(language === 'zh' ? 'zh-CN' : 'en-GB', format);
}

/** Undefined if the request does not ask for a time. */
function sayTime({ request, language }: Conversation, now: number): string | undefined {
  if (!asksNow.test(request)) return undefined;
  const { moments, timeZones } = findValues(request.slice(0, mostRead), now);
  const at = new Date(now + (moments[0]?.offsetMs ?? 0));
  const named = [...new Set(timeZones.map((zone) => zone.text))].slice(0, mostZones);
  const said = (named.length === 0 ? ['UTC'] : named).map((timeZone) => {
    const clock = at.toLocaleTimeString('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' });
    const moment = `${sayDay(at, timeZone, language)}${asksTime.test(request) ? ` ${clock}` : ''}`;
    return language === 'zh' ? `${moment}（${timeZone}）` : `${moment} (${timeZone})`;
  });
  return language === 'zh' ? `是 ${said.join('；')}。（离线模型）` : `It is ${said.join('; ')}. (offline model)`;
}
