// Why a run stopped, failed or waits, in words.
import type { ListedRun } from '@signalbox/client';
import { errorWords } from '../../api/error-words.js';
import { useLanguage, useStrings } from '../../i18n/language.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { runsStrings } from './strings.js';

export type RunState = ListedRun['state'];

export const runStates: readonly RunState[] = ['running', 'waiting', 'done', 'failed', 'cancelled', 'interrupted'];

/** Such a run goes on, so it can be joined and cancelled. */
export const isGoing = (state: RunState): boolean => state === 'running' || state === 'waiting';

type Reasons = Pick<ListedRun, 'state' | 'stopped_by' | 'error' | 'replay_of'>;

export function useRunWords(): (run: Reasons) => string | undefined {
  const texts = useStrings(runsStrings);
  const { language } = useLanguage();
  return ({ state, stopped_by: stoppedBy, error, replay_of: replayOf }) => {
    if (state === 'waiting') return texts.waitingForPerson;
    if (error !== undefined && error.code !== 'cancelled') {
      return errorWords(error.code, language) ?? visibleText(error.message);
    }
    if (state === 'cancelled') return texts.cancelledWhy;
    if (state === 'interrupted') return typeof replayOf === 'string' ? texts.interruptedReplay : texts.interruptedWhy;
    return stoppedBy === null ? undefined : texts[`stopped_${stoppedBy}`];
  };
}
