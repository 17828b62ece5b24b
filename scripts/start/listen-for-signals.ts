// What is asked of us by signals. Ctrl-C and its relatives: the first asks for a stop in order, the second for one at
// once; so does the loss of our terminal, and of the npm above us. SIGHUP otherwise: the configuration is read again.
import { closeSync, openSync } from 'node:fs';
import { basename } from 'node:path';
import { identifyProcess, isSameProcess, readCommandLine, readParent } from '#libs/process/process-identity.js';

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

/** Nothing tells of a parent's end. */
const intervalMs = 500;

/**
 * Notices that the `npm` which started us is gone, killed perhaps: then nobody could stop us any more. Without npm above us it
 * watches nothing: a supervisor may well outlive the shell that started it. Returns what ends the watching.
 */
function watchParent(onGone: () => void): () => void {
  const parent = process.ppid;
  // npm runs scripts through a shell, which outlives an npm that was killed.
  const grandparent = isScriptShell(parent) ? readParent(parent) : undefined;
  const above = grandparent === undefined ? undefined : identifyProcess(grandparent);
  const timer = setInterval(() => {
    if (process.ppid === parent && (above === undefined || isSameProcess(above))) return;
    clearInterval(timer);
    onGone();
  }, intervalMs).unref();
  return () => clearInterval(timer);
}

function isScriptShell(pid: number): boolean {
  const [program = '', option] = readCommandLine(pid).split(' ');
  return /^(?:sh|dash|bash|ash|zsh|ksh)$/.test(basename(program)) && option === '-c';
}
