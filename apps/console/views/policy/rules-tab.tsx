// The rules in their order, and what happens to calls that none of them matches, with how often each decided.
import type { Policy } from '@signalbox/client';
import { Link } from '@tanstack/react-router';
import { useStrings } from '../../i18n/language.js';
import { EffectBadge } from '../../widgets/policy/effect-badge.js';
import { type Column, DataTable } from '../../widgets/lists/data-table.js';
import { Badge } from '../../widgets/shown/badge.js';
import { Command } from '../../widgets/shown/copy-button.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { TimeAgo } from '../../widgets/shown/time-ago.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Failure, Loading, Notice } from '../../widgets/states.js';
import { policyStrings } from './strings.js';
import { usePolicy } from './use-policy.js';
import styles from './policy.module.css';

type Rule = Policy['rules'][number];
type UsedName = Policy['defaults'][number];

const exampleRule = "- { name: deletions, tool: '*/delete_*', effect: require_approval, reason: Deletes something }";

export function RulesTab() {
  const texts = useStrings(policyStrings);
  const columns = useColumns();
  const { data, error, refetch } = usePolicy();
  if (data === undefined)
    return error === null ? <Loading /> : <Failure error={error} onRetry={() => void refetch()} />;
  const { source, rules, defaults, others, since } = data;
  const placed = rules.map((rule, at) => ({ ...rule, place: at + 1 }));
  return (
    <div className={styles.part}>
      <p className={styles.soft}>
        {texts.source(source.name, source.kind === 'file')} {texts.order}
      </p>
      {rules.length === 0 ? (
        <Notice heading={texts.noRules} text={texts.noRulesHint(source.name)}>
          <Command text={exampleRule} />
        </Notice>
      ) : (
        <DataTable
          label={texts.rules}
          rows={placed}
          columns={columns(since)}
          rowKey={({ name }) => name}
          card={(rule) => <RuleCard rule={rule} since={since} />}
          rowHeight={48}
        />
      )}
      <section aria-labelledby="policy-default" className={styles.part}>
        <h2 id="policy-default">{texts.default}</h2>
        <p>
          <code>{data.default}</code> · {data.default === 'allow' ? texts.defaultAllow : texts.defaultByOrigin}
        </p>
        <UsedNames names={defaults} since={since} label={texts.default} none={texts.noDefaultHits} />
      </section>
      {others.length > 0 && (
        <section aria-labelledby="policy-others" className={styles.part}>
          <h2 id="policy-others">{texts.others}</h2>
          <UsedNames names={others} since={since} label={texts.others} none="" />
        </section>
      )}
    </div>
  );
}

type PlacedRule = Rule & { place: number };

function useColumns(): (since: string) => readonly Column<PlacedRule>[] {
  const texts = useStrings(policyStrings);
  return (since) => [
    { name: 'place', heading: '#', width: '44px', isNumber: true, show: ({ place }) => place },
    { name: 'name', heading: texts.rule, width: 'minmax(0, 2fr)', show: (rule) => <RuleName rule={rule} /> },
    {
      name: 'who',
      heading: texts.who,
      width: 'minmax(0, 1.5fr)',
      isMinor: true,
      show: (rule) => <Who rule={rule} />,
    },
    {
      name: 'tool',
      heading: texts.what,
      width: 'minmax(0, 2.5fr)',
      isMinor: true,
      show: (rule) => <What rule={rule} />,
    },
    { name: 'effect', heading: texts.effect, width: '124px', show: ({ effect }) => <EffectBadge effect={effect} /> },
    {
      name: 'hits',
      heading: texts.hits,
      width: '84px',
      isNumber: true,
      show: ({ name, hits }) => <Hits rule={name} hits={hits} since={since} />,
    },
    {
      name: 'last',
      heading: texts.lastHit,
      width: '110px',
      isMinor: true,
      show: ({ last_hit_at: last }) => (last === null ? texts.never : <TimeAgo time={last} />),
    },
  ];
}

function RuleCard({ rule, since }: { rule: PlacedRule; since: string }) {
  const texts = useStrings(policyStrings);
  return (
    <div className={styles.card}>
      <div className={styles.line}>
        <span className={styles.soft}>{rule.place}</span>
        <RuleName rule={rule} />
        <EffectBadge effect={rule.effect} />
      </div>
      <Who rule={rule} />
      <What rule={rule} />
      <span>
        {texts.hits}: <Hits rule={rule.name} hits={rule.hits} since={since} />
      </span>
    </div>
  );
}

function RuleName({ rule: { name, server, reason } }: { rule: Rule }) {
  const texts = useStrings(policyStrings);
  return (
    <span className={styles.stack}>
      <span className={styles.line}>
        <strong className={styles.cut}>{visibleText(name)}</strong>
        {server !== null && <Badge>{texts.ofServer(visibleText(server))}</Badge>}
      </span>
      {reason !== undefined && <span className={styles.soft}>{visibleText(reason)}</span>}
    </span>
  );
}

function Who({ rule }: { rule: Rule }) {
  const texts = useStrings(policyStrings);
  const kinds = (['role', 'user', 'key'] as const).flatMap((kind) => {
    const names = [rule[kind] ?? []].flat();
    return names.length === 0 ? [] : [`${texts[kind]} ${names.map(visibleText).join(', ')}`];
  });
  return <span className={styles.wrap}>{kinds.length === 0 ? texts.everybody : kinds.join(' · ')}</span>;
}

function What({ rule: { tool, arguments: conditions = [] } }: { rule: Rule }) {
  const texts = useStrings(policyStrings);
  const tools = [tool ?? []].flat();
  return (
    <span className={styles.stack}>
      <span className={styles.wrap}>
        {tools.length === 0 ? texts.everyTool : tools.map((each) => <code key={each}>{visibleText(each)} </code>)}
      </span>
      {conditions.map((condition, at) => (
        <code key={at} className={styles.wrap}>
          {visibleText(inWords(condition))}
        </code>
      ))}
    </span>
  );
}

const inWords = ({ path, ...test }: NonNullable<Rule['arguments']>[number]): string =>
  `${path} ${Object.entries(test)
    .map(([kind, value]) => `${kind} ${JSON.stringify(value)}`)
    .join(' ')}`;

/** The gateway counts no more calls of a rule. */
const maxCounted = 100_000;

function Hits({ rule, hits, since }: { rule: string; hits: number; since: string }) {
  const texts = useStrings(policyStrings);
  const formats = useFormats();
  if (hits === 0) return <>0</>;
  const shown = `${formats.number(hits)}${hits < maxCounted ? '' : '+'}`;
  return (
    <Link
      to="/audit"
      search={{ rule, since }}
      className={styles.link}
      aria-label={texts.hitsOf(visibleText(rule), shown)}
    >
      {shown}
    </Link>
  );
}

interface UsedNamesProps {
  names: readonly UsedName[];
  since: string;
  label: string;
  none: string;
}

function UsedNames({ names, since, label, none }: UsedNamesProps) {
  const texts = useStrings(policyStrings);
  if (names.length === 0) return <p className={styles.soft}>{none}</p>;
  const columns: readonly Column<UsedName>[] = [
    {
      name: 'rule',
      heading: texts.rule,
      width: 'minmax(0, 3fr)',
      show: ({ rule }) => <code className={styles.cut}>{visibleText(rule)}</code>,
    },
    {
      name: 'hits',
      heading: texts.hits,
      width: '84px',
      isNumber: true,
      show: ({ rule, hits }) => <Hits rule={rule} hits={hits} since={since} />,
    },
    {
      name: 'last',
      heading: texts.lastHit,
      width: '110px',
      show: ({ last_hit_at: last }) => (last === null ? texts.never : <TimeAgo time={last} />),
    },
  ];
  return <DataTable label={label} rows={names} columns={columns} rowKey={({ rule }) => rule} />;
}
