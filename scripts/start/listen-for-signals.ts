// What is asked of us by signals. Ctrl-C and its relatives: the first asks for a stop in order, the second for one at
// once; so does the loss of our terminal, and of the npm above us. SIGHUP otherwise: the configuration is read again.
import { closeSync, openSync } from 'node:fs';
import { watchParent } from './watch-parent.js';

export interface AskedBySignals {
  stop: AbortSignal;
  atOnce: AbortSignal;
  onReload(listener: () => void): void;
}

/** One Ctrl-C under npm may reach us twice, from the terminal and from npm. */
const sameKeyPressMs = 500;

export function listenForSignals(startedByNpm: boolean): AskedBySignals {
  const stop = new AbortController();
  const atOnce = new AbortController();
  const reloads = new Set<() => void>();
  let firstAt = 0;
  const askForStop = (signal: string) => {
    if (!stop.signal.aborted) {
      firstAt = performance.now();
      stop.abort(new Error(signal));
    } else if (performance.now() - firstAt > sameKeyPressMs) {
      atOnce.abort(new Error(signal));
    }
  };
  // Never taken away: a third one must not end us before what we started.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => askForStop(signal));
  const hadTerminal = hasTerminal();
  process.on('SIGHUP', () => {
    if (hadTerminal && !hasTerminal()) return askForStop('SIGHUP');
    for (const listener of reloads) listener();
  });
  if (startedByNpm) watchParent(() => stop.abort(new Error('npm has ended')));
  return { stop: stop.signal, atOnce: atOnce.signal, onReload: (listener) => void reloads.add(listener) };
}

/** A terminal that was closed is taken from all its processes before they are told. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
