// Which models or tools the globs of a form match, of those that the person may see.
import { useQuery } from '@tanstack/react-query';
import { starMatcher } from '#libs/policy/tool-glob.js';
import { api } from '../../../api/api.js';
import { useMay } from '../../../api/me.js';
import { useStrings } from '../../../i18n/language.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { keysStrings } from '../strings.js';
import styles from '../keys.module.css';

const mostShown = 30;

export function MatchingModels({ allow }: { allow: readonly string[] }) {
  const may = useMay('chat') === true;
  const { data } = useQuery({ queryKey: ['models'], queryFn: ({ signal }) => api.models({ signal }), enabled: may });
  return <Matching scope="chat" may={may} items={data?.map(({ id }) => ({ name: id }))} allow={allow} deny={[]} />;
}

export function MatchingTools({ allow, deny }: { allow: readonly string[]; deny: readonly string[] }) {
  const may = useMay('tools') === true;
  const { data } = useQuery({ queryKey: ['tools'], queryFn: ({ signal }) => api.tools.list({ signal }), enabled: may });
  const items = data?.map(({ server, toolsets, function: { name } }) => ({
    name: `${server}/${ownName(name, server)}`,
    toolsets,
  }));
  return <Matching scope="tools" may={may} items={items} allow={allow} deny={deny} />;
}

/** A tool whose name is that of another server's tool too is offered under both names. */
const ownName = (name: string, server: string): string =>
  name.startsWith(`${server}__`) ? name.slice(server.length + 2) : name;

interface Item {
  name: string;
  toolsets?: readonly string[] | undefined;
}

interface MatchingProps {
  scope: string;
  may: boolean;
  items: readonly Item[] | undefined;
  allow: readonly string[];
  deny: readonly string[];
}

function Matching({ scope, may, items, allow, deny }: MatchingProps) {
  const texts = useStrings(keysStrings);
  if (allow.length + deny.length === 0) return null;
  if (!may) return <p className={styles.matches}>{texts.matchesUnknown(scope)}</p>;
  if (items === undefined) return null;
  const isIn = (globs: readonly string[], { name, toolsets = [] }: Item) =>
    globs.some((glob) => (glob.startsWith('@') ? toolsets.includes(glob.slice(1)) : starMatcher(glob)(name)));
  const found = items.filter((item) => (allow.length === 0 || isIn(allow, item)) && !isIn(deny, item));
  const rest = found.length - mostShown;
  return (
    <p className={styles.matches} role="status" tabIndex={0}>
      {found.length === 0 ? texts.matchesNone(items.length) : texts.matches(found.length, items.length)}{' '}
      {found
        .slice(0, mostShown)
        .map(({ name }) => visibleText(name))
        .join(', ')}
      {rest > 0 && ` ${texts.more(rest)}`}
    </p>
  );
}
