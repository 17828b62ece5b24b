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
}

const colours = ['--part-model', '--part-tool', '--part-person', '--bad', '--part-queue'];

export function drawPlot(
  place: HTMLElement,
  { times, series, show, height = 160, kind = 'line' }: PlotProps & { show: (value: number) => string },
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
  const bars = UPlot.paths.bars?.({ size: [0.7, 40] });
  const plot = new UPlot(
    {
      width: Math.max(120, place.clientWidth),
      height,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      scales: { y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] } },
      axes: [axis, { ...axis, size: 56, values: (_plot, values) => values.map(show) }],
      series: [
        {},
        ...series.map(({ name }, index) => {
          const shade = colours[index % colours.length]!;
          return {
            label: name,
            stroke: () => colour(shade),
            width: 1.5,
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
