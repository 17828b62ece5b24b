// Finds times in a request: how far from now (“three days ago”, 后天, 两小时后) or when (2027-01-15, 下午三点, at 3pm).
// Says distances in milliseconds; what the present is, the caller knows.

export interface Moment {
  text: string;
  start: number;
  end: number;
  /** From now; absent for an absolute date without such words. */
  offsetMs?: number;
  /** `YYYY-MM-DD` or `MM-DD`, when a date was named. */
  date?: string;
  /** Minutes after midnight, when a time of day was named. */
  minuteOfDay?: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const UNITS: [RegExp, number][] = [
  [/^(?:milliseconds?|ms|毫秒)$/i, 1],
  [/^(?:seconds?|secs?|s|秒|秒钟)$/i, 1000],
  [/^(?:minutes?|mins?|分钟|分)$/i, MINUTE],
  [/^(?:hours?|hrs?|h|小时|个小时|钟头|个钟头)$/i, HOUR],
  [/^(?:days?|d|天|日)$/i, DAY],
  [/^(?:weeks?|周|个星期|星期|礼拜|个礼拜)$/i, 7 * DAY],
  [/^(?:months?|个月|月)$/i, 30 * DAY],
  [/^(?:years?|年)$/i, 365 * DAY],
];
const UNIT_EN = '(?:milliseconds?|ms|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?)';
const UNIT_ZH = '(?:毫秒|秒钟?|分钟|个?小时|个?钟头|天|日|周|个?星期|个?礼拜|个月|年)';
const COUNT_EN =
  '(?:\\d{1,6}(?:\\.\\d{1,3})?|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|half an?|a couple of|a few)';
const COUNT_ZH = '(?:\\d{1,6}(?:\\.\\d{1,3})?|[零一二两三四五六七八九十百半几]{1,5})';
const WORDS_EN: Record<string, number> = {
  a: 1, an: 1, one: 1, two: 2, three: 3, four: 4, five: 5, six: 6, seven: 7, eight: 8, nine: 9, ten: 10, eleven: 11, twelve: 12,
  fifteen: 15, twenty: 20, thirty: 30, half: 0.5, 'half a': 0.5, 'half an': 0.5, 'a couple of': 2, 'a few': 3,
}; // prettier-ignore
const NAMED: [string, number][] = [
  ['the day before yesterday', -2], ['day before yesterday', -2], ['the day after tomorrow', 2], ['day after tomorrow', 2],
  ['yesterday', -1], ['tomorrow', 1], ['today', 0], ['tonight', 0], ['right now', 0], ['now', 0], ['last week', -7], ['next week', 7],
  ['last month', -30], ['next month', 30], ['last year', -365], ['next year', 365],
  ['大前天', -3], ['大后天', 3], ['前天', -2], ['后天', 2], ['昨天', -1], ['昨日', -1], ['昨晚', -1], ['明天', 1], ['明日', 1], ['明早', 1], ['明晚', 1],
  ['今天', 0], ['今日', 0], ['今晚', 0], ['现在', 0], ['此刻', 0], ['目前', 0],
  ['上周', -7], ['上个星期', -7], ['上星期', -7], ['下周', 7], ['下个星期', 7], ['下星期', 7], ['上个月', -30], ['下个月', 30], ['去年', -365], ['明年', 365], ['前年', -730],
]; // prettier-ignore
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH_EN = '(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}';

const PAST_EN = new RegExp(`\\b(${COUNT_EN})\\s+(${UNIT_EN})\\s+(?:ago|earlier|before now|back)\\b`, 'gi');
const FUTURE_EN = new RegExp(
  `\\bin\\s+(${COUNT_EN})\\s+(${UNIT_EN})\\b|\\b(${COUNT_EN})\\s+(${UNIT_EN})\\s+(?:from now|later|ahead)\\b`,
  'gi',
);
const RELATIVE_ZH = new RegExp(`(${COUNT_ZH})\\s?(${UNIT_ZH})\\s?(半)?\\s?(?:之|以)?(前|后)`, 'g');
const NAMED_PATTERN = new RegExp(`(?<![a-z])(?:${NAMED.map(([word]) => word).join('|')})(?![a-z])`, 'gi');
const DATES = new RegExp(
  `(\\d{4})\\s?[-/年.]\\s?(\\d{1,2})\\s?[-/月.]\\s?(\\d{1,2})(?:日|号)?(?:[T ](\\d{1,2}:\\d{2})(?::\\d{2})?Z?)?|(\\d{1,2})月(\\d{1,2})[日号]|\\b(${MONTH_EN})\\.?\\s+(\\d{1,2})(?:st|nd|rd|th)?(?:,?\\s+(\\d{4}))?\\b|\\b(\\d{1,2})(?:st|nd|rd|th)?\\s+(?:of\\s+)?(${MONTH_EN})(?:\\s+(\\d{4}))?\\b`,
  'gi',
);
const TIMES =
  /(上午|早上|早晨|凌晨|中午|下午|傍晚|晚上)?\s?([零一二两三四五六七八九十\d]{1,3})(?:点钟?|时)(半|一刻|[零一二三四五六七八九十\d]{1,3}分?)?|\b(?:at\s+)?(\d{1,2})(?::(\d{2}))?\s?([ap])\.?m\b\.?|\b(?:at\s+)?(\d{1,2}):(\d{2})\b|\bat\s+(noon|midnight|\d{1,2})\b(?!\s*(?:%|percent))/gi;

export function findMoments(text: string): Moment[] {
  const moments: Moment[] = [];
  const add = (match: RegExpMatchArray, facts: Partial<Moment> | undefined) => {
    const start = match.index!;
    const end = start + match[0].length;
    if (facts === undefined || moments.length >= 32 || moments.some((other) => other.start < end && start < other.end))
      return;
    moments.push({ text: match[0].trim(), start, end, ...facts });
  };
  for (const match of text.matchAll(PAST_EN)) add(match, distance(match[1]!, match[2]!, -1));
  for (const match of text.matchAll(FUTURE_EN)) add(match, distance(match[1] ?? match[3]!, match[2] ?? match[4]!, 1));
  for (const match of text.matchAll(RELATIVE_ZH)) {
    const half = match[3] === undefined ? 0 : 0.5;
    add(match, distance(match[1]!, match[2]!, match[4] === '前' ? -1 : 1, half));
  }
  for (const match of text.matchAll(NAMED_PATTERN)) {
    const days = NAMED.find(([word]) => word === match[0].toLowerCase())?.[1] ?? 0;
    add(match, { offsetMs: days * DAY });
  }
  for (const match of text.matchAll(DATES)) add(match, dateOf(match));
  for (const match of text.matchAll(TIMES)) add(match, timeOf(match));
  return moments.sort((left, right) => left.start - right.start);
}

function distance(count: string, unit: string, sign: number, half = 0): Partial<Moment> | undefined {
  const size = UNITS.find(([pattern]) => pattern.test(unit))?.[1];
  const amount = WORDS_EN[count.toLowerCase()] ?? chineseNumber(count);
  if (size === undefined || amount === undefined) return undefined;
  return { offsetMs: Math.round((amount + half) * size) * sign };
}

/** 十二, 两百, 半, 3.5; undefined when it is no number. */
export function chineseNumber(text: string): number | undefined {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text);
  if (text === '半') return 0.5;
  let total = 0;
  let digit: number | undefined;
  for (const character of text) {
    const value = '零一二三四五六七八九'.indexOf(character);
    if (value >= 0) digit = value;
    else if (character === '两') digit = 2;
    else if (character === '几') digit = 3;
    else if (character === '十' || character === '百') {
      total += (digit ?? 1) * (character === '十' ? 10 : 100);
      digit = undefined;
    } else return undefined;
  }
  return text === '' ? undefined : total + (digit ?? 0);
}

function dateOf(match: RegExpMatchArray): Partial<Moment> | undefined {
  const [, year, month, day, clock, zhMonth, zhDay, enMonth, enDay, enYear, dayFirst, monthLast, yearLast] = match;
  if (year !== undefined) {
    const date = validDate(Number(year), Number(month), Number(day));
    return date === undefined ? undefined : clock === undefined ? { date } : { date, ...minutes(clock.split(':')) };
  }
  const monthName = enMonth ?? monthLast;
  const monthNumber =
    monthName === undefined ? Number(zhMonth) : MONTHS.indexOf(monthName.slice(0, 3).toLowerCase()) + 1;
  const date = validDate(Number(enYear ?? yearLast ?? 2000), monthNumber, Number(enDay ?? dayFirst ?? zhDay));
  if (date === undefined) return undefined;
  return { date: (enYear ?? yearLast) === undefined ? date.slice(5) : date };
}

function validDate(year: number, month: number, day: number): string | undefined {
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= 31)) return undefined;
  return `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
}

function minutes([hour, minute]: string[]): Partial<Moment> | undefined {
  const total = Number(hour) * 60 + Number(minute ?? 0);
  return total >= 0 && total < 1440 ? { minuteOfDay: total } : undefined;
}

function timeOf(match: RegExpMatchArray): Partial<Moment> | undefined {
  const [, part, zhHour, zhMinute, hour12, minute12, half, hour24, minute24, plain] = match;
  if (zhHour !== undefined) {
    const hour = chineseNumber(zhHour);
    if (hour === undefined) return undefined;
    const minute =
      zhMinute === '半' ? 30 : zhMinute === '一刻' ? 15 : (chineseNumber((zhMinute ?? '零').replace('分', '')) ?? 0);
    const later = hour < 12 && /下午|傍晚|晚上/.test(part ?? '') ? 12 : hour < 3 && part === '中午' ? 12 : 0;
    return minutes([String(hour + later), String(minute)]);
  }
  if (hour12 !== undefined) {
    const hour = (Number(hour12) % 12) + (half?.toLowerCase() === 'p' ? 12 : 0);
    return minutes([String(hour), minute12 ?? '0']);
  }
  if (hour24 !== undefined) return minutes([hour24, minute24 ?? '0']);
  return minutes([plain === 'noon' ? '12' : plain === 'midnight' ? '0' : (plain ?? ''), '0']);
}
