// What stands around every view: the navigation, the status of the gateway, the sign-in, what opens by a key.
import { Outlet } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Dialog } from 'react-aria-components/Dialog';
import { Modal, ModalOverlay } from 'react-aria-components/Modal';
import { useStrings } from '../i18n/language.js';
import { Notices } from '../widgets/notices.js';
import { Away } from './away.js';
import { Icon } from './icon.js';
import { Navigation } from './navigation.js';
import { PageKeys } from './page-keys.js';
import { SignIn } from './sign-in.js';
import { frameStrings } from './strings.js';
import styles from './shell.module.css';

export function Shell() {
  const texts = useStrings(frameStrings);
  const [isOpen, setOpen] = useState(false);
  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#main" onClick={focusMain}>
        {texts.skip}
      </a>
      <header className={styles.bar}>
        <Button className={styles.menu} aria-label={texts.openNavigation} onPress={() => setOpen(true)}>
          <Icon name="menu" size={20} />
        </Button>
        <span className={styles.product}>Signalbox</span>
      </header>
      <div className={styles.side}>
        <Navigation />
      </div>
      <ModalOverlay className={styles.veil} isOpen={isOpen} onOpenChange={setOpen} isDismissable>
        <Modal className={styles.drawer}>
          <Dialog className={styles.drawerContent} aria-label={texts.navigation}>
            <Navigation onLeave={() => setOpen(false)} />
          </Dialog>
        </Modal>
      </ModalOverlay>
      <div className={styles.content}>
        <Away />
        <Outlet />
      </div>
      <Notices />
      <PageKeys />
      <SignIn />
    </div>
  );
}

/** The router would take a link within the page for an address. */
function focusMain(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.querySelector('main')?.focus();
}
