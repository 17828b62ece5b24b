// The content of a file as far as it can be shown without harm: text, markdown, JSON, images. A PDF is opened by the browser in a
// tab of its own. Everything else is for downloading.
import type { FileEntry } from '@signalbox/client';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api } from '../../../api/api.js';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { useFormats } from '../../../widgets/shown/formats.js';
import { JsonView } from '../../../widgets/shown/json-view.js';
import { LongText } from '../../../widgets/shown/long-text.js';
import { Markdown } from '../../../widgets/shown/markdown.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { Failure, Loading } from '../../../widgets/states.js';
import { Tabs } from '../../../widgets/tabs.js';
import { sessionsStrings } from '../strings.js';
import { nameOf } from './file-rows.js';
import { previewBytes, type PreviewKind, previewKind, shownType } from './preview-kind.js';
import styles from '../sessions.module.css';

interface PreviewProps {
  sessionId: string;
  entry: FileEntry;
}

export function FilePreview(props: PreviewProps) {
  const kind = previewKind(props.entry.path);
  return kind === 'image' || kind === 'pdf' ? (
    <BlobPreview {...props} kind={kind} />
  ) : (
    <TextPreview {...props} kind={kind} />
  );
}

function TextPreview({ sessionId, entry, kind }: PreviewProps & { kind: PreviewKind }) {
  const texts = useStrings(sessionsStrings);
  const formats = useFormats();
  const { path, size } = entry;
  const firstBytes = previewBytes[kind];
  const { data, error, refetch } = useQuery({
    queryKey: ['files', 'text', sessionId, path, entry.etag],
    queryFn: async ({ signal }) => {
      if (size === 0) return '';
      const answer = await api.files.download({ sessionId, path }, { firstBytes, signal });
      return readText(await answer.arrayBuffer()) ?? null;
    },
  });
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data === null) return <p className={styles.soft}>{texts.binary}</p>;
  const isCut = size > firstBytes;
  const json = kind === 'json' && !isCut ? parsed(data) : undefined;
  const plain = <LongText text={data} isCode />;
  const tab = (id: string, title: string, content: React.ReactNode) => ({ id, title, content });
  return (
    <>
      {isCut && <p className={styles.soft}>{texts.cut(formats.bytes(firstBytes), formats.bytes(size))}</p>}
      {kind === 'markdown' && (
        <Tabs
          label={texts.previewForms}
          tabs={[tab('rendered', texts.rendered, <Markdown text={data} />), tab('source', texts.source, plain)]}
        />
      )}
      {json !== undefined && (
        <Tabs
          label={texts.previewForms}
          tabs={[tab('tree', texts.asTree, <JsonView value={json.value} />), tab('source', texts.source, plain)]}
        />
      )}
      {kind !== 'markdown' && json === undefined && plain}
    </>
  );
}

/** Undefined for what is no text. The end of a part may cut a character. */
function readText(bytes: ArrayBuffer): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function BlobPreview({ sessionId, entry, kind }: PreviewProps & { kind: 'image' | 'pdf' }) {
  const texts = useStrings(sessionsStrings);
  const formats = useFormats();
  const { path, size } = entry;
  const fits = size <= previewBytes[kind];
  const { data, error, refetch } = useQuery({
    queryKey: ['files', 'blob', sessionId, path, entry.etag],
    queryFn: async ({ signal }) => {
      const answer = await api.files.download({ sessionId, path }, { signal });
      return new Blob([await answer.arrayBuffer()], { type: shownType(path) });
    },
    enabled: fits,
    gcTime: 0,
  });
  const url = useBlobUrl(data);
  const [isBroken, setBroken] = useState(false);
  if (!fits) return <p className={styles.soft}>{texts.tooLarge(formats.bytes(previewBytes[kind]))}</p>;
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (url === undefined) return <Loading />;
  if (kind === 'pdf') {
    return (
      <a className={buttons.button} href={url} target="_blank" rel="noreferrer">
        {texts.openPdf}
      </a>
    );
  }
  if (isBroken) return <p className={styles.soft}>{texts.brokenImage}</p>;
  return (
    <img
      className={styles.image}
      src={url}
      alt={texts.imageOf(visibleText(nameOf(path)))}
      onError={() => setBroken(true)}
    />
  );
}

function useBlobUrl(blob: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (blob === undefined) return undefined;
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url;
}
