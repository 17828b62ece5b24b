// What the offline model says without a tool: a greeting, a sum, the date, what the user told it; else that it follows rules
// and how to configure a real model.
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import { calculate } from './calculate.js';
import type { Plan } from './plan-next.js';
import { arithmeticIn } from './read-clause.js';
import type { Conversation } from './read-conversation.js';
import { findEntities } from './find-entities.js';
import { findMoments } from './find-moments.js';
import { isGreeting } from './score-tools.js';

const SETUP = {
  zh: '要接入真正的模型，请设置 OPENAI_API_KEY、ANTHROPIC_API_KEY、GEMINI_API_KEY、DEEPSEEK_API_KEY 或 OLLAMA_BASE_URL，或在 signalbox.yaml 的 models.providers 中配置。',
  en: 'For a real one set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, DEEPSEEK_API_KEY or OLLAMA_BASE_URL, or configure models.providers in signalbox.yaml.',
};

const maxZones = 4;

export function plainAnswer(
  conversation: Conversation,
  plan: Plan,
  context: { tools: readonly ToolDefinition[]; now: number },
): string {
  const { language } = conversation;
  const request = conversation.request.slice(0, 20_000).trim();
  const zh = language === 'zh';
  if (plan.lacking !== undefined) {
    const names = plan.lacking.missing.slice(0, 8).join(zh ? '、' : ', ');
    return zh
      ? `可以用 \`${plan.lacking.name}\` 来做，但还缺少参数：${names}。请补充。（离线模型）`
      : `\`${plan.lacking.name}\` can do this, but the request does not say: ${names}. Please add it. (offline model)`;
  }
  if (request === '') return zh ? '请告诉我要做什么。（离线模型）' : 'Please tell me what to do. (offline model)';
  if (/^(?:thanks|thank you|谢谢|多谢)/i.test(request))
    return zh ? '不客气！（离线模型）' : "You're welcome! (offline model)";
  if (isGreeting(request)) return greeting(zh);
  const small = sum(request, zh) ?? remembered(conversation, zh) ?? date(request, zh, context.now) ?? echo(request);
  if (small !== undefined) return small;
  const offered = context.tools
    .slice(0, 8)
    .map((tool) => `\`${tool.name}\``)
    .join(zh ? '、' : ', ');
  if (zh)
    return `我是离线模型，只按规则工作，不是语言模型，回答不了这个问题。${offered === '' ? '' : `提供的工具（${offered}）中也没有合适的。`}${SETUP.zh}`;
  return `I am the offline model: I follow rules, I am no language model, and cannot answer this. ${offered === '' ? '' : `None of the offered tools (${offered}) fits either. `}${SETUP.en}`;
}

function greeting(zh: boolean): string {
  return zh
    ? `你好！我是 Signalbox 自带的离线模型：不需要密钥和网络，按规则选择并调用工具（读写文件、抓取网址、查询时间等），再根据结果作答。${SETUP.zh}`
    : `Hello! I am the offline model that ships with Signalbox: without key or network I choose tools by rules (files, addresses, times and whatever you offer) and answer from their results. ${SETUP.en}`;
}

function sum(request: string, zh: boolean): string | undefined {
  const expression = arithmeticIn(request);
  const value = expression === undefined ? undefined : calculate(expression);
  return value === undefined ? undefined : `${expression} = ${value} ${zh ? '（离线模型）' : '(offline model)'}`;
}

function date(request: string, zh: boolean, now: number): string | undefined {
  if (
    !/几号|日期|几点|星期几|周几|什么时间|\bwhat(?:'s| is)? (?:the )?(?:time|date|day)\b|\btoday'?s date\b|\bdate (?:today|yesterday|tomorrow)\b/i.test(
      request,
    )
  )
    return undefined;
  const shift = findMoments(request).find((moment) => moment.offsetMs !== undefined)?.offsetMs ?? 0;
  const at = new Date(now + shift);
  const withTime = /几点|时间|\btime\b/i.test(request);
  const named = [...new Set(findEntities(request).timeZones.map((zone) => zone.text))].filter(isTimeZone);
  const moments = (named.length === 0 ? ['UTC'] : named.slice(0, maxZones)).map((zone) =>
    momentIn(zone, { at, zh, withTime }),
  );
  return zh ? `是 ${moments.join('；')}。（离线模型）` : `It is ${moments.join('; ')}. (offline model)`;
}

function momentIn(timeZone: string, { at, zh, withTime }: { at: Date; zh: boolean; withTime: boolean }): string {
  const locale = zh ? 'zh-CN' : 'en-GB';
  const day = at.toLocaleDateString(locale, {
    timeZone,
    weekday: 'long',
    year: 'numeric',
    month: 'long',
    day: 'numeric',
  });
  const time = at.toLocaleTimeString('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' });
  return `${day}${withTime ? ` ${time}` : ''}${zh ? `（${timeZone}）` : ` (${timeZone})`}`;
}

function isTimeZone(name: string): boolean {
  try {
    return new Date(0).toLocaleString('en', { timeZone: name }) !== '';
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

function remembered({ request, said }: Conversation, zh: boolean): string | undefined {
  if (/我叫什么|我的名字|我是谁|what(?:'s| is) my name|who am i/i.test(request)) {
    for (const text of said.toReversed()) {
      const name =
        /(?:我叫|我的名字[是叫])\s?([\p{L}\d·]{1,20})/u.exec(text)?.[1] ??
        /\b(?:my name is|i am called|call me)\s+([\p{L}'-]{1,40})/iu.exec(text)?.[1];
      if (name !== undefined) return zh ? `你叫${name}。（离线模型）` : `Your name is ${name}. (offline model)`;
    }
  }
  const before = said.at(-1);
  if (before !== undefined && /我(?:刚才|刚刚|之前|上一句)说了?什么|what did i (?:just )?(?:say|ask)/i.test(request)) {
    return zh
      ? `你刚才说：“${before.slice(0, 500)}”（离线模型）`
      : `You said: “${before.slice(0, 500)}” (offline model)`;
  }
  return undefined;
}
