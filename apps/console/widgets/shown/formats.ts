// Numbers, sums, sizes and times as the language of the page writes them.
import { useMemo } from 'react';
import { useLocaleName } from '../../i18n/language.js';

export interface Formats {
  number: (value: number) => string;
  percent: (part: number) => string;
  usd: (value: number) => string;
  bytes: (value: number) => string;
  duration: (ms: number) => string;
  /** With the date, to the second. */
  time: (value: Date) => string;
  /** A day of UTC. */
  day: (value: Date) => string;
  ago: (value: Date, now: number) => string;
}

export function useFormats(): Formats {
  const locale = useLocaleName();
  return useMemo(() => createFormats(locale), [locale]);
}

const sizes = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;
const spans = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

export function createFormats(locale: string): Formats {
  const number = new Intl.NumberFormat(locale);
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });
  const time = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' });
  const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' });
  const ago = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' });
  const unit = (value: number, name: string) =>
    new Intl.NumberFormat(locale, {
      style: 'unit',
      unit: name,
      unitDisplay: 'narrow',
      maximumFractionDigits: value < 10 ? 1 : 0,
    }).format(value);
  return {
    number: (value) => number.format(value),
    percent: (part) => percent.format(part),
    usd: (value) =>
      new Intl.NumberFormat(locale, {
        style: 'currency',
        currency: 'USD',
        currencyDisplay: 'narrowSymbol',
        maximumFractionDigits: value !== 0 && Math.abs(value) < 1 ? 4 : 2,
      }).format(value),
    bytes(value) {
      const power = value < 1 ? 0 : Math.min(sizes.length - 1, Math.floor(Math.log(value) / Math.log(1_000)));
      return unit(value / 1_000 ** power, sizes[power]!);
    },
    duration(ms) {
      if (ms < 1_000) return unit(Math.round(ms), 'millisecond');
      if (ms < 60_000) return unit(ms / 1_000, 'second');
      const minutes = Math.floor(ms / 60_000);
      if (minutes < 60) return `${unit(minutes, 'minute')} ${unit(Math.floor((ms % 60_000) / 1_000), 'second')}`;
      return `${unit(Math.floor(minutes / 60), 'hour')} ${unit(minutes % 60, 'minute')}`;
    },
    time: (value) => time.format(value),
    day: (value) => day.format(value),
    ago(value, now) {
      const seconds = (value.getTime() - now) / 1_000;
      const span = spans.find(([, length]) => Math.abs(seconds) >= length);
      return span === undefined
        ? ago.format(Math.round(seconds), 'second')
        : ago.format(Math.round(seconds / span[1]), span[0]);
    },
  };
}
