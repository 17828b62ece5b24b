// Says once that the gateway went away. The element is always there, so that screen readers hear its text when it comes.
import { useExternal } from '../api/external-value.js';
import { gatewayAway } from '../api/api.js';
import { useStrings } from '../i18n/language.js';
import { frameStrings } from './strings.js';
import styles from './away.module.css';

export function Away() {
  const texts = useStrings(frameStrings);
  const isAway = useExternal(gatewayAway);
  return (
    <div role="status" className={isAway ? styles.away : undefined}>
      {isAway && texts.away}
    </div>
  );
}
