// The files of a session. Directories open and close in place; names are shown with what is hidden in them.
import type { FileEntry } from '@signalbox/client';
import { useMemo, useState } from 'react';
import { Icon } from '../../../frame/icon.js';
import { useStrings } from '../../../i18n/language.js';
import { type Column, DataTable } from '../../../widgets/lists/data-table.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { TimeAgo } from '../../../widgets/shown/time-ago.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { sessionsStrings } from '../strings.js';
import { type FileRow, fileRows } from './file-rows.js';
import styles from '../sessions.module.css';

export interface FileTreeProps {
  files: readonly FileEntry[];
  chosen: string | undefined;
  onChoose: (path: string) => void;
}

export function FileTree({ files, chosen, onChoose }: FileTreeProps) {
  const texts = useStrings(sessionsStrings);
  const formats = useFormats();
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => fileRows(files, closed), [files, closed]);
  const toggle = (path: string) => {
    const next = new Set(closed);
    if (!next.delete(path)) next.add(path);
    setClosed(next);
  };
  const columns: readonly Column<FileRow>[] = [
    {
      name: 'name',
      heading: texts.fileName,
      width: 'minmax(0, 1fr)',
      show: ({ entry, name, depth, isOpen }) => (
        <span className={styles.name} style={{ paddingLeft: Math.min(depth, 12) * 16 }}>
          {entry.type === 'directory' ? (
            <button
              type="button"
              className={styles.toggle}
              aria-expanded={isOpen}
              aria-label={(isOpen ? texts.close : texts.open)(visibleText(name))}
              onClick={() => toggle(entry.path)}
            >
              <Icon name="chevron" size={12} />
            </button>
          ) : (
            <span className={styles.noToggle} />
          )}
          <bdi
            className={entry.type === 'directory' ? `${styles.cut} ${styles.directory}` : styles.cut}
            title={visibleText(name)}
          >
            {oneLine(name)}
          </bdi>
          {entry.type === 'link' && <span className={styles.soft}>{texts.link}</span>}
          {entry.type === 'other' && <span className={styles.soft}>{texts.other}</span>}
        </span>
      ),
    },
    {
      name: 'size',
      heading: texts.size,
      width: '72px',
      isNumber: true,
      show: ({ entry }) => (entry.type === 'file' ? formats.bytes(entry.size) : ''),
    },
    {
      name: 'changed',
      heading: texts.changed,
      width: '110px',
      isMinor: true,
      show: ({ entry }) => <TimeAgo time={entry.modified_at} />,
    },
  ];
  return (
    <DataTable
      label={texts.files}
      rows={rows}
      columns={columns}
      rowKey={({ entry }) => entry.path}
      chosen={chosen}
      rowHeight={36}
      onOpen={({ entry }) => onChoose(entry.path)}
    />
  );
}

/** Line ends and tabs of a name by their numbers, too: a row has one line. */
const oneLine = (name: string): string =>
  visibleText(name).replace(/[\n\t]/g, (each) => (each === '\n' ? '⟨U+000A⟩' : '⟨U+0009⟩'));
