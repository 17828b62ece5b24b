// What a tool returned: texts as they are, JSON as a tree, pictures by their data, links as text.
import type { ToolResult } from '@signalbox/client';
import { Link } from '@tanstack/react-router';
import { useStrings } from '../../../i18n/language.js';
import { isObject, type JsonObject } from '../../../widgets/forms/form-schema.js';
import { Badge } from '../../../widgets/shown/badge.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { JsonView } from '../../../widgets/shown/json-view.js';
import { LongText } from '../../../widgets/shown/long-text.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { Tabs } from '../../../widgets/tabs.js';
import { toolsStrings } from '../strings.js';
import styles from '../tools.module.css';

/** SVG is markup that may have scripts, so it is not among them. */
const imageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp']);

export function CallResult({ result }: { result: ToolResult }) {
  const texts = useStrings(toolsStrings);
  const formats = useFormats();
  const { success, error, blocks, content, structured_content: structured, session_id: session } = result;
  const shown =
    blocks === undefined ? (
      <LongText text={content} isCode />
    ) : (
      blocks.map((block, at) => <ResultBlock key={at} block={block} />)
    );
  return (
    <section aria-label={texts.result} className={styles.result} role="status">
      <p className={styles.badges}>
        <Badge tone={success ? 'good' : 'bad'}>{success ? texts.succeeded : texts.failed}</Badge>
        <span className={styles.soft}>{formats.duration(result.duration_ms)}</span>
        {result.cached === true && <Badge>{texts.cached}</Badge>}
        {result.truncated === true && <Badge tone="warn">{texts.truncated}</Badge>}
        {session !== undefined && (
          <Link to="/sessions/{-$id}" params={{ id: session }}>
            {texts.filesOf}
          </Link>
        )}
      </p>
      {error !== undefined && (
        <p className={styles.bad}>
          {visibleText(error.message)} <code>{error.code}</code>
        </p>
      )}
      {error === undefined && structured === undefined && shown}
      {error === undefined && structured !== undefined && (
        <Tabs
          label={texts.forms}
          tabs={[
            { id: 'content', title: texts.content, content: shown },
            { id: 'json', title: texts.structured, content: <JsonView value={structured} /> },
          ]}
        />
      )}
    </section>
  );
}

/** A content block of MCP. */
export function ResultBlock({ block }: { block: JsonObject }) {
  const texts = useStrings(toolsStrings);
  const formats = useFormats();
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  const { type, data, mimeType } = block;
  switch (type) {
    case 'text':
      return <LongText text={text(block['text'])} isCode />;
    case 'image':
    case 'audio':
      if (imageTypes.has(text(mimeType))) {
        return (
          <img className={styles.image} src={`data:${text(mimeType)};base64,${text(data)}`} alt={texts.imageResult} />
        );
      }
      return (
        <p className={styles.soft}>{texts.noPreview(visibleText(text(mimeType)), formats.bytes(text(data).length))}</p>
      );
    case 'resource_link':
      return (
        <p>
          {texts.resource}: {visibleText(text(block['name']))} <code>{visibleText(text(block['uri']))}</code>
        </p>
      );
    case 'resource': {
      const resource = isObject(block['resource']) ? block['resource'] : {};
      return (
        <div>
          <p>
            {texts.resource}: <code>{visibleText(text(resource['uri']))}</code>
          </p>
          {typeof resource['text'] === 'string' ? (
            <LongText text={resource['text']} isCode />
          ) : imageTypes.has(text(resource['mimeType'])) ? (
            <img
              className={styles.image}
              src={`data:${text(resource['mimeType'])};base64,${text(resource['blob'])}`}
              alt={texts.imageResult}
            />
          ) : (
            <p className={styles.soft}>
              {texts.noPreview(visibleText(text(resource['mimeType'])), formats.bytes(text(resource['blob']).length))}
            </p>
          )}
        </div>
      );
    }
    default:
      return <JsonView value={block} />;
  }
}
