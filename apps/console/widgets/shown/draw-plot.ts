// Draws a plot into an element, follows the element's width and the theme, and goes when the signal aborts.
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

export interface PlotProps {
  /** What is plotted; the name of both forms. */
  label: string;
  /** Epoch seconds, ascending. */
  times: readonly number[];
  series: readonly { name: string; values: readonly (number | null)[] }[];
  /** How figures are written. */
  show?: (value: number) => string;
  height?: number;
  kind?: 'line' | 'bars';
  /** The times are days, UTC. */
  isDaily?: boolean;
}

export interface DrawnPlot extends PlotProps {
  show: (value: number) => string;
  /** Custom properties, one a series. */
  colours: readonly string[];
}

const longestInHours = 2 * 86_400;

/** Hours for a day or two, else days, as the language of the page writes them. */
function timeName(times: readonly number[], isDaily: boolean): (seconds: number) => string {
  const isShort = (times.at(-1) ?? 0) - (times[0] ?? 0) <= longestInHours;
  const format = new Intl.DateTimeFormat(
    document.documentElement.lang,
    isShort && !isDaily
      ? { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
      : { month: 'short', day: 'numeric', ...(isDaily ? { timeZone: 'UTC' } : {}) },
  );
  return (seconds) => format.format(new Date(seconds * 1_000));
}

/** Room for the longest figure beside the axis. Chinese characters are as wide as the font is high. */
const widthOf = (figures: readonly string[] | null): number => {
  const pixels = (figure: string) => 6.5 * figure.length + 4.5 * (figure.match(/[\u2e80-\uffff]/g)?.length ?? 0);
  return Math.max(56, 18 + Math.max(0, ...(figures ?? []).map(pixels)));
};

export function drawPlot(
  place: HTMLElement,
  { times, series, show, colours, height = 160, kind = 'line', isDaily = false }: DrawnPlot,
  signal: AbortSignal,
): void {
  // A computed colour is plain: a canvas does not know light-dark().
  const probe = document.createElement('i');
  place.append(probe);
  const colour = (name: string) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const axis = {
    stroke: () => colour('--ink-soft'),
    grid: { stroke: () => colour('--line'), width: 1 },
    font: '11px system-ui',
  };
  // A bar at the edge is as wide as the others.
  const edge = kind === 'bars' ? ((times[1] ?? 0) - (times[0] ?? 0) || (isDaily ? 86_400 : 3_600)) / 2 : 0;
  const bars = UPlot.paths.bars?.({ size: [0.7, 40] });
  const plot = new UPlot(
    {
      width: Math.max(120, place.clientWidth),
      height,
      legend: { show: false },
      ...(isDaily ? { tzDate: (seconds: number) => UPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC') } : {}),
      cursor: { y: false, drag: { x: false, y: false } },
      scales: {
        x: { range: (_plot, low, high) => [low - edge, high + edge] },
        y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] },
      },
      axes: [
        {
          ...axis,
          size: 28,
          values: (_plot, values) => values.map(timeName(times, isDaily)),
          // Ticks within a day would have its name once more.
          ...(isDaily ? { incrs: [1, 2, 7, 14, 30, 60, 90].map((days) => days * 86_400) } : {}),
        },
        { ...axis, size: (_plot, values) => widthOf(values), values: (_plot, values) => values.map(show) },
      ],
      series: [
        {},
        ...series.map(({ name }, index) => {
          const shade = colours[index % colours.length]!;
          return {
            label: name,
            stroke: () => colour(shade),
            width: kind === 'bars' ? 0 : 1.5,
            points: { show: false },
            ...(kind === 'bars' && bars !== undefined ? { paths: bars, fill: () => colour(shade) } : {}),
          };
        }),
      ],
    },
    [[...times], ...series.map(({ values }) => [...values])] as UPlot.AlignedData,
    place,
  );
  const watch = new ResizeObserver(() => plot.setSize({ width: Math.max(120, place.clientWidth), height }));
  watch.observe(place);
  const repaint = () => plot.redraw();
  const theme = new MutationObserver(repaint);
  theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', repaint, { signal });
  signal.addEventListener('abort', () => {
    watch.disconnect();
    theme.disconnect();
    plot.destroy();
    probe.remove();
  });
}
