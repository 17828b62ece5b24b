// A JSON value as a tree. Parts open one by one, and long lists in pieces: what is closed is not in the document.
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Icon } from '../../frame/icon.js';
import { useStrings } from '../../i18n/language.js';
import { widgetStrings } from '../strings.js';
import { CopyButton } from './copy-button.js';
import { visibleText } from './visible-text.js';
import styles from './json-view.module.css';

const piece = 100;
const shortText = 400;

export interface JsonViewProps {
  value: unknown;
  /** How many levels are open at first. */
  open?: number;
}

export function JsonView({ value, open = 2 }: JsonViewProps) {
  return (
    <div className={styles.view}>
      <div className={styles.copy}>
        <CopyButton text={() => JSON.stringify(value, null, 2)} />
      </div>
      <Node value={value} open={open} />
    </div>
  );
}

function Node({ name, value, open }: { name?: string; value: unknown; open: number }) {
  const entries = entriesOf(value);
  if (entries === undefined) {
    return (
      <div className={styles.line}>
        <Name name={name} />
        <Leaf value={value} />
      </div>
    );
  }
  return <Branch name={name} isList={Array.isArray(value)} entries={entries} open={open} />;
}

function Branch(props: { name: string | undefined; isList: boolean; entries: [string, unknown][]; open: number }) {
  const { name, isList, entries, open } = props;
  const texts = useStrings(widgetStrings);
  const [isOpen, setOpen] = useState(open > 0);
  const [shown, setShown] = useState(piece);
  const size = isList ? `[${entries.length}]` : `{${entries.length}}`;
  return (
    <div>
      <button type="button" className={styles.toggle} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="chevron" size={10} />
        <Name name={name} />
        <span className={styles.size}>{size}</span>
      </button>
      {isOpen && (
        <div className={styles.members}>
          {entries.slice(0, shown).map(([key, member]) => (
            <Node key={key} name={key} value={member} open={open - 1} />
          ))}
          {entries.length > shown && (
            <Button className={styles.more} onPress={() => setShown(shown + piece)}>
              {texts.moreEntries(entries.length - shown)}
            </Button>
          )}
        </div>
      )}
    </div>
  );
}

const Name = ({ name }: { name: string | undefined }) =>
  name === undefined ? null : <span className={styles.name}>{visibleText(name)}: </span>;

function Leaf({ value }: { value: unknown }) {
  const texts = useStrings(widgetStrings);
  const [whole, setWhole] = useState(false);
  if (typeof value !== 'string') return <span className={styles.literal}>{String(value)}</span>;
  const cut = !whole && value.length > shortText;
  return (
    <span className={styles.string}>
      {JSON.stringify(visibleText(cut ? value.slice(0, shortText) : value.slice(0, 100_000)))}
      {cut && (
        <Button className={styles.more} onPress={() => setWhole(true)}>
          {texts.showMore(value.length - shortText)}
        </Button>
      )}
    </span>
  );
}

function entriesOf(value: unknown): [string, unknown][] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.entries(value);
}
