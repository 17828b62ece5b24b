// Ctrl-C and its relatives as two signals: the first asks for a stop in order, the second for one at once. The loss of
// the npm above us asks as well.
import { watchParent } from './watch-parent.js';

/** One Ctrl-C under npm may reach us twice, from the terminal and from npm. */
const SAME_KEY_PRESS_MS = 500;

export function listenForStop(startedByNpm: boolean): { stop: AbortSignal; atOnce: AbortSignal } {
  const stop = new AbortController();
  const atOnce = new AbortController();
  let firstAt = 0;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // Never taken away: a third one must not end us before what we started.
    process.on(signal, () => {
      if (!stop.signal.aborted) {
        firstAt = performance.now();
        stop.abort(new Error(signal));
      } else if (performance.now() - firstAt > SAME_KEY_PRESS_MS) {
        atOnce.abort(new Error(signal));
      }
    });
  }
  if (startedByNpm) watchParent(() => stop.abort(new Error('npm is gone')));
  return { stop: stop.signal, atOnce: atOnce.signal };
}
