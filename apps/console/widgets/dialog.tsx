// What stands over the page until it is answered or closed: a dialog of a form, a list of keys, a question.
import type { ReactNode } from 'react';
import { Button } from 'react-aria-components/Button';
import { Dialog as AriaDialog } from 'react-aria-components/Dialog';
import { Heading } from 'react-aria-components/Heading';
import { Modal, ModalOverlay } from 'react-aria-components/Modal';
import { useStrings } from '../i18n/language.js';
import buttons from './button.module.css';
import { widgetStrings } from './strings.js';
import styles from './dialog.module.css';

export interface DialogProps {
  heading: string;
  isOpen: boolean;
  onClose: () => void;
  /** Wide enough for two columns. */
  isWide?: boolean;
  /** Only its own buttons close it: what it holds would be lost. */
  staysOpen?: boolean;
  children: ReactNode;
}

export function Dialog({ heading, isOpen, onClose, isWide = false, staysOpen = false, children }: DialogProps) {
  return (
    <ModalOverlay
      className={styles.veil}
      isOpen={isOpen}
      onOpenChange={(next) => next || onClose()}
      isDismissable={!staysOpen}
      isKeyboardDismissDisabled={staysOpen}
    >
      <Modal className={isWide ? `${styles.modal} ${styles.wide}` : styles.modal}>
        <AriaDialog className={styles.dialog}>
          <Heading slot="title" level={2}>
            {heading}
          </Heading>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}

/** The buttons at the foot of a dialog. */
export const DialogActions = ({ children }: { children: ReactNode }) => (
  <div className={styles.actions}>{children}</div>
);

export interface ConfirmDialogProps {
  heading: string;
  text: ReactNode;
  /** What the button says: the act, not "OK". */
  action: string;
  isOpen: boolean;
  isDangerous?: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

/** Asks before what cannot be undone. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { heading, text, action, isOpen, isDangerous = true, onConfirm, onClose } = props;
  const texts = useStrings(widgetStrings);
  return (
    <Dialog heading={heading} isOpen={isOpen} onClose={onClose}>
      <div>{text}</div>
      <DialogActions>
        <Button className={buttons.button} onPress={onClose}>
          {texts.cancel}
        </Button>
        <Button
          className={`${buttons.button} ${isDangerous ? buttons.danger : buttons.primary}`}
          onPress={() => {
            onClose();
            onConfirm();
          }}
        >
          {action}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
