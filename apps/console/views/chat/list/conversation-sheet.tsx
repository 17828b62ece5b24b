// The list of conversations in a narrow window: over the page.
import type { ReactNode } from 'react';
import { Dialog as AriaDialog } from 'react-aria-components/Dialog';
import { Modal, ModalOverlay } from 'react-aria-components/Modal';
import { useStrings } from '../../../i18n/language.js';
import { chatStrings } from '../strings.js';
import styles from './conversation-sheet.module.css';

export interface ConversationSheetProps {
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
}

export function ConversationSheet({ isOpen, onClose, children }: ConversationSheetProps) {
  const texts = useStrings(chatStrings);
  return (
    <ModalOverlay className={styles.veil} isOpen={isOpen} onOpenChange={(next) => next || onClose()} isDismissable>
      <Modal className={styles.sheet}>
        <AriaDialog className={styles.content} aria-label={texts.conversations}>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}
