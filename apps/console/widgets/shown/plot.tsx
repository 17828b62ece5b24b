// Figures over time: a plot, and the same figures as a table. The plot's code is loaded when the first one is shown.
import { useEffect, useRef } from 'react';
import { useStrings } from '../../i18n/language.js';
import { widgetStrings } from '../strings.js';
import type { PlotProps } from './draw-plot.js';
import { useFormats } from './formats.js';
import styles from './plot.module.css';

const colours = ['--part-model', '--part-tool', '--part-person', '--bad', '--part-queue'];

export function Plot(props: PlotProps) {
  const { label, times, series, isDaily = false } = props;
  const texts = useStrings(widgetStrings);
  const formats = useFormats();
  const nameOf = isDaily ? formats.day : formats.time;
  const show = props.show ?? formats.number;
  const place = useRef<HTMLDivElement>(null);
  const latest = useRef({ ...props, show, colours });
  useEffect(() => {
    latest.current = { ...props, show, colours };
  });
  useEffect(() => {
    const leaving = new AbortController();
    void import('./draw-plot.js').then(({ drawPlot }) => {
      if (place.current !== null && !leaving.signal.aborted) drawPlot(place.current, latest.current, leaving.signal);
    });
    return () => leaving.abort();
  }, [times, series]);
  return (
    <figure className={styles.plot} aria-label={label}>
      {series.length > 1 && (
        <div className={styles.legend} aria-hidden="true">
          {series.map(({ name }, index) => (
            <span key={name}>
              <i style={{ background: `var(${colours[index % colours.length]})` }} />
              {name}
            </span>
          ))}
        </div>
      )}
      <div ref={place} className={styles.canvas} style={{ height: props.height ?? 160 }} aria-hidden="true" />
      <details className={styles.figures}>
        <summary>{texts.asTable}</summary>
        <table>
          <caption>{label}</caption>
          <thead>
            <tr>
              <th scope="col">{texts.time}</th>
              {series.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {times.map((time, index) => (
              <tr key={time}>
                <th scope="row">{nameOf(new Date(time * 1_000))}</th>
                {series.map(({ name, values }) => {
                  const value = values[index];
                  return <td key={name}>{value === null || value === undefined ? '–' : show(value)}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}
