// Forms of one thing. Which one is shown belongs into the address: see `useFilters`.
import type { ReactNode } from 'react';
import { Tab, TabList, TabPanel, Tabs as AriaTabs } from 'react-aria-components/Tabs';
import styles from './tabs.module.css';

export interface TabsProps {
  label: string;
  tabs: readonly { id: string; title: ReactNode; content: ReactNode }[];
  chosen?: string | undefined;
  onChoose?: (id: string) => void;
}

export function Tabs({ label, tabs, chosen, onChoose }: TabsProps) {
  const known = tabs.some(({ id }) => id === chosen);
  return (
    <AriaTabs
      className={styles.tabs}
      {...(onChoose === undefined ? {} : { selectedKey: known ? chosen! : tabs[0]!.id })}
      onSelectionChange={(id) => onChoose?.(String(id))}
    >
      <TabList className={styles.list} aria-label={label}>
        {tabs.map(({ id, title }) => (
          <Tab key={id} id={id} className={styles.tab}>
            {title}
          </Tab>
        ))}
      </TabList>
      {tabs.map(({ id, content }) => (
        <TabPanel key={id} id={id} className={styles.panel}>
          {content}
        </TabPanel>
      ))}
    </AriaTabs>
  );
}
