// Reads a resource when a person asks for it: a read is a call, which is audited. What it brings is shown without harm, and can be
// downloaded as it is.
import type { ResourceContents } from '@signalbox/client';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../../api/api.js';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { Labelled } from '../../../widgets/forms/labelled.js';
import fields from '../../../widgets/forms/schema-form.module.css';
import { saveFile } from '../../../widgets/save-file.js';
import { Failure } from '../../../widgets/states.js';
import { ResultBlock } from '../call/call-result.js';
import { UseInChat } from './use-in-chat.js';
import { offerStrings } from './offer-strings.js';
import styles from '../tools.module.css';

type Content = ResourceContents['contents'][number];

export interface ResourceReaderProps {
  heading: string;
  /** What the field begins with. */
  uri: string;
  about?: string;
  server?: string;
}

export function ResourceReader({ heading, uri: given, about, server }: ResourceReaderProps) {
  const texts = useStrings(offerStrings);
  const [uri, setUri] = useState(given);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const read = useMutation({
    mutationFn: (asked: string) => {
      running.current = new AbortController();
      const { signal } = running.current;
      return api.offers.read({ uri: asked, ...(server !== undefined && { server }) }, { signal });
    },
  });
  return (
    <section aria-label={heading} className={styles.call}>
      <h3>{heading}</h3>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (uri.trim() !== '' && !read.isPending) read.mutate(uri.trim());
        }}
      >
        <Labelled label={texts.uri} about={about}>
          {(field) => (
            <input
              {...field}
              className={fields.input}
              autoComplete="off"
              spellCheck={false}
              value={uri}
              onChange={({ target }) => setUri(target.value)}
            />
          )}
        </Labelled>
        <div className={styles.actions}>
          <Button type="submit" className={`${buttons.button} ${buttons.primary}`} isDisabled={read.isPending}>
            {read.isPending ? texts.reading : texts.read}
          </Button>
          {server !== undefined && !/[{}]/.test(uri) && (
            <UseInChat offer={{ type: 'mcp_resource', uri: uri.trim(), server }} />
          )}
        </div>
      </form>
      {read.isError && <Failure error={read.error} />}
      {read.isSuccess && (
        <section aria-label={texts.readResult} className={styles.result} role="status">
          {read.data.length === 0 && <p className={styles.soft}>{texts.nothing}</p>}
          {read.data.map((content, at) => (
            <ReadContent key={at} content={content} />
          ))}
        </section>
      )}
    </section>
  );
}

function ReadContent({ content }: { content: Content }) {
  const texts = useStrings(offerStrings);
  return (
    <>
      <ResultBlock block={{ type: 'resource', resource: { ...content } }} />
      <div className={styles.actions}>
        <Button className={buttons.button} onPress={() => saveFile(fileNameOf(content.uri), asBlob(content))}>
          {texts.download}
        </Button>
      </div>
    </>
  );
}

/** Never a type that a browser would open as a page. */
function asBlob({ text, blob }: Content): Blob {
  const bytes = blob === undefined ? undefined : Uint8Array.from(atob(blob), (each) => each.charCodeAt(0));
  return new Blob([bytes ?? text ?? ''], { type: 'application/octet-stream' });
}

const fileNameOf = (uri: string): string =>
  uri
    .split(/[/:\\]/)
    .findLast((part) => part !== '')
    ?.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '_') ?? 'resource';
