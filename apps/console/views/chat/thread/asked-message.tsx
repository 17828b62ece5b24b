// A message of the person of the page. Editing it begins a new branch.
import { memo, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { CopyButton } from '../../../widgets/shown/copy-button.js';
import { LongText } from '../../../widgets/shown/long-text.js';
import { offerName } from '../../../widgets/offers.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import type { AskedNode } from '../conversation/conversation.js';
import type { OpenChat } from '../store/open-chat.js';
import { chatStrings } from '../strings.js';
import { Branches, type BranchPlace } from './branches.js';
import styles from './thread.module.css';

export interface AskedMessageProps {
  node: AskedNode;
  branches: BranchPlace;
  chat: OpenChat;
  /** Nothing can be asked while a turn runs. */
  isBusy: boolean;
}

export const AskedMessage = memo(
  function AskedMessage({ node, branches, chat, isBusy }: AskedMessageProps) {
    const texts = useStrings(chatStrings);
    const mentioned = [...node.files, ...(node.offers ?? []).map(offerName)];
    const [edited, setEdited] = useState<string>();
    return (
      <article className={styles.asked} aria-label={texts.you}>
        {edited === undefined ? (
          <div className={styles.said}>
            <LongText text={node.text} />
            {mentioned.length > 0 && <p className={styles.mentioned}>{mentioned.map(visibleText).join(', ')}</p>}
          </div>
        ) : (
          <form
            className={styles.editing}
            onSubmit={(event) => {
              event.preventDefault();
              if (edited.trim() === '') return;
              setEdited(undefined);
              chat.edit(node, edited);
            }}
          >
            <textarea
              aria-label={texts.editMessage}
              rows={4}
              dir="auto"
              autoFocus
              value={edited}
              onChange={({ target }) => setEdited(target.value)}
            />
            <span className={styles.actions}>
              <Button className={buttons.button} onPress={() => setEdited(undefined)}>
                {texts.cancel}
              </Button>
              <Button className={`${buttons.button} ${buttons.primary}`} type="submit" isDisabled={isBusy}>
                {texts.sendEdited}
              </Button>
            </span>
          </form>
        )}
        {edited === undefined && (
          <div className={styles.actions}>
            <Branches node={node} {...branches} />
            <CopyButton text={node.text} />
            <Button
              className={`${buttons.button} ${buttons.quiet}`}
              isDisabled={isBusy}
              onPress={() => setEdited(node.text)}
            >
              {texts.edit}
            </Button>
          </div>
        )}
      </article>
    );
  },
  (before, after) =>
    before.node === after.node &&
    before.isBusy === after.isBusy &&
    before.chat === after.chat &&
    before.branches.siblings.length === after.branches.siblings.length,
);
