// What a person looks at first: what waits for somebody, what is wrong, what runs, and the last day.
import { Link } from '@tanstack/react-router';
import { useQuery } from '@tanstack/react-query';
import type { Overview } from '@signalbox/client';
import { api } from '../../api/api.js';
import { useStrings } from '../../i18n/language.js';
import { Page } from '../../widgets/page.js';
import { Badge } from '../../widgets/shown/badge.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { Failure, Loading } from '../../widgets/states.js';
import { FirstSteps } from './first-steps.js';
import { LastDay } from './last-day.js';
import { describeProblem } from './problem-words.js';
import { homeStrings } from './strings.js';
import styles from './home.module.css';

const lookEveryMs = 15_000;

export default function HomeView() {
  const texts = useStrings(homeStrings);
  const { data, error, refetch } = useQuery({
    queryKey: ['overview'],
    queryFn: ({ signal }) => api.operations.overview({ signal }),
    // Only while the tab is visible.
    refetchInterval: lookEveryMs,
  });
  return (
    <Page title={texts.title} {...(data?.everybody === false ? { about: texts.aboutOwn } : {})}>
      {data === undefined && error === null && <Loading />}
      {data === undefined && error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data !== undefined && <Shown overview={data} />}
    </Page>
  );
}

function Shown({ overview }: { overview: Overview }) {
  const texts = useStrings(homeStrings);
  const isQuiet = overview.running_turns === 0 && overview.hours.every(({ requests }) => requests === 0);
  return (
    <>
      <div className={styles.columns}>
        <Waiting waiting={overview.waiting} />
        <Problems problems={overview.problems} />
      </div>
      <Now overview={overview} />
      {isQuiet && <FirstSteps />}
      <section aria-labelledby="last-day" className={styles.section}>
        <h2 id="last-day">{texts.lastDay}</h2>
        <LastDay hours={overview.hours} />
      </section>
    </>
  );
}

function Waiting({ waiting }: { waiting: Overview['waiting'] }) {
  const texts = useStrings(homeStrings);
  const { approvals, sign_ins: signIns, questions, tool_changes: changes } = waiting;
  const lines = [
    { count: approvals, text: texts.approvals(approvals), to: '/approvals' },
    { count: signIns, text: texts.signIns(signIns), to: '/approvals' },
    { count: questions, text: texts.questions(questions), to: '/approvals' },
    { count: changes ?? 0, text: texts.toolChanges(changes ?? 0), to: '/tools' },
  ].filter(({ count }) => count > 0);
  return (
    <section aria-labelledby="waiting" className={styles.section}>
      <h2 id="waiting">{texts.waiting}</h2>
      {lines.length === 0 ? (
        <p className={styles.soft}>{texts.nothingWaits}</p>
      ) : (
        <ul className={styles.lines}>
          {lines.map(({ text, to }) => (
            <li key={text}>
              <Link to={to} className={`${styles.line} ${styles.waits}`}>
                {text}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Problems({ problems }: { problems: Overview['problems'] }) {
  const texts = useStrings(homeStrings);
  const formats = useFormats();
  return (
    <section aria-labelledby="problems" className={styles.section}>
      <h2 id="problems">{texts.problems}</h2>
      {problems.length === 0 ? (
        <p className={styles.soft}>{texts.noProblems}</p>
      ) : (
        <ul className={styles.lines}>
          {problems.map((problem, index) => {
            const { sentence, reason, to, search = {} } = describeProblem(problem, texts, formats);
            const isError = problem.severity === 'error';
            const content = (
              <>
                <Badge tone={isError ? 'bad' : 'warn'}>{isError ? texts.error : texts.warning}</Badge>
                <span className={styles.words}>
                  {sentence}
                  {reason !== undefined && <small className={styles.soft}>{reason}</small>}
                </span>
              </>
            );
            return (
              // Problems have no ids, and two of one kind differ in their facts alone.
              <li key={index}>
                {to === undefined ? (
                  <div className={styles.line}>{content}</div>
                ) : (
                  <Link to={to} search={search} className={styles.line}>
                    {content}
                  </Link>
                )}
              </li>
            );
          })}
        </ul>
      )}
    </section>
  );
}

function Now({ overview: { running_turns: turns, queue, workers } }: { overview: Overview }) {
  const texts = useStrings(homeStrings);
  const formats = useFormats();
  const { number } = formats;
  const others =
    workers === null
      ? []
      : [
          ...(workers.draining > 0 ? [texts.draining(workers.draining)] : []),
          ...(workers.gone > 0 ? [texts.gone(workers.gone)] : []),
        ];
  const figures = [
    { label: texts.runningTurns, value: turns, to: '/runs', search: { state: 'running' } },
    ...(queue === null
      ? []
      : [
          {
            label: texts.queued,
            value: queue.waiting,
            to: '/runs',
            search: { state: 'running' },
            more: queue.waiting > 0 ? texts.oldest(formats.duration(queue.oldest_age_ms)) : undefined,
          },
          { label: texts.active, value: queue.active, to: '/runs', search: { state: 'running' } },
        ]),
    ...(workers === null
      ? []
      : [{ label: texts.workers, value: workers.ready, to: '/tools', search: {}, more: others.join(', ') }]),
  ];
  return (
    <section aria-labelledby="now" className={styles.section}>
      <h2 id="now">{texts.now}</h2>
      <ul className={styles.figures}>
        {figures.map(({ label, value, to, search, ...rest }) => (
          <li key={label}>
            <Link to={to} search={search} className={styles.tile}>
              <span className={styles.label}>{label}</span>
              <span>
                <span className={styles.figure}>{number(value)}</span>{' '}
                {'more' in rest && rest.more !== undefined && <small>{rest.more}</small>}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
