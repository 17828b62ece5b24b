// All of one key: what it allows, what is spent, and what can be done with it.
import { type BudgetUse, type ListedKey, SignalboxError } from '@signalbox/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/api.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { CopyButton } from '../../widgets/shown/copy-button.js';
import { Fact, Facts } from '../../widgets/shown/facts.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { TimeAgo } from '../../widgets/shown/time-ago.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Failure, Loading, Notice } from '../../widgets/states.js';
import { RevokeKey, RotateKey } from './change-key.js';
import { isInForce, KeyState, SpentOf } from './key-words.js';
import type { NewlyMade } from './made-key.js';
import { keysStrings } from './strings.js';
import styles from './keys.module.css';

export function KeyDetail({ id, onMade }: { id: string; onMade: (shown: NewlyMade) => void }) {
  const texts = useStrings(keysStrings);
  const { data, error, refetch } = useQuery({
    queryKey: ['keys', 'one', id],
    queryFn: ({ signal }) => api.operations.key(id, { signal }),
  });
  if (error instanceof SignalboxError && error.status === 404)
    return <Notice heading={texts.missing} text={texts.missingText} />;
  if (data === undefined)
    return error === null ? <Loading /> : <Failure error={error} onRetry={() => void refetch()} />;
  return (
    <div className={styles.detail}>
      <div className={styles.actions}>
        {isInForce(data) && data.replaced_by === null && <RotateKey row={data} onMade={onMade} />}
        {data.state !== 'revoked' && <RevokeKey row={data} />}
        <Link to="/usage" search={{ key: id }} className={`${buttons.button} ${buttons.quiet}`}>
          {texts.usageOf}
        </Link>
        <Link to="/runs" search={{ principal: data.owner }} className={`${buttons.button} ${buttons.quiet}`}>
          {texts.runsOf}
        </Link>
      </div>
      <KeyFacts row={data} />
    </div>
  );
}

function KeyFacts({ row }: { row: ListedKey }) {
  const texts = useStrings(keysStrings);
  const list = (names: readonly string[]) => names.map(visibleText).join(', ');
  const time = (value: string | null) => (value === null ? texts.never : <TimeAgo time={value} />);
  const { models, tools, spending } = row;
  const globs = [
    ...(tools.allow === undefined ? [] : [texts.allowed(list(tools.allow))]),
    ...(tools.deny === undefined ? [] : [texts.denied(list(tools.deny))]),
  ];
  return (
    <Facts>
      <Fact name={texts.state}>
        <KeyState state={row.state} />
      </Fact>
      <Fact name={texts.id}>
        <span className={styles.line}>
          <code>{row.id}</code>
          <CopyButton text={row.id} />
        </span>
      </Fact>
      <Fact name={texts.prefix}>
        <code>{row.prefix}…</code>
      </Fact>
      <Fact name={texts.owner}>{visibleText(row.owner)}</Fact>
      {row.name !== null && <Fact name={texts.name}>{visibleText(row.name)}</Fact>}
      <Fact name={texts.scopes}>{row.scopes.join(', ')}</Fact>
      {row.roles.length > 0 && <Fact name={texts.roles}>{list(row.roles)}</Fact>}
      <Fact name={texts.models}>
        {models === null ? texts.allModels : models.length === 0 ? texts.noModels : list(models)}
      </Fact>
      <Fact name={texts.tools}>
        {!row.scopes.includes('tools') ? texts.noToolScope : globs.length === 0 ? texts.allTools : globs.join(' · ')}
      </Fact>
      <Fact name={texts.limits}>
        <Limits limits={row.limits} />
      </Fact>
      <Fact name={texts.day}>
        <BudgetFact label={texts.day} use={spending.day} />
      </Fact>
      <Fact name={texts.month}>
        <BudgetFact label={texts.month} use={spending.month} />
      </Fact>
      <Fact name={texts.created}>{time(row.created_at)}</Fact>
      <Fact name={texts.lastUse}>{time(row.last_used_at)}</Fact>
      <Fact name={texts.expires}>{time(row.expires_at)}</Fact>
      {row.revoked_at !== null && <Fact name={texts.revoked}>{time(row.revoked_at)}</Fact>}
      {row.replaced_by !== null && (
        <Fact name={texts.replacedBy}>
          <Link to="/keys" search={{ id: row.replaced_by }}>
            {row.replaced_by}
          </Link>
        </Fact>
      )}
    </Facts>
  );
}

function Limits({ limits }: Pick<ListedKey, 'limits'>) {
  const texts = useStrings(keysStrings);
  const formats = useFormats();
  const own = [
    limits.requests_per_minute !== undefined && texts.requestsLimit(formats.number(limits.requests_per_minute)),
    limits.tokens_per_minute !== undefined && texts.tokensLimit(formats.number(limits.tokens_per_minute)),
    limits.turns !== undefined && texts.turnsLimit(formats.number(limits.turns)),
  ].filter((each) => each !== false);
  return own.length === 0 ? texts.asConfigured : own.join(', ');
}

function BudgetFact({ label, use }: { label: string; use: BudgetUse }) {
  const texts = useStrings(keysStrings);
  const formats = useFormats();
  const { state, runs_out_at: runsOut, forecast_usd: forecast, spent_usd: spent } = use;
  const end =
    state === 'used_up'
      ? texts.usedUp
      : runsOut === null
        ? texts.endsAt(formats.usd(forecast))
        : texts.runsOut(formats.time(new Date(runsOut)));
  return (
    <span className={styles.who}>
      <SpentOf label={label} use={use} />
      {(spent > 0 || state === 'used_up') && <small className={styles.soft}>{end}</small>}
    </span>
  );
}
