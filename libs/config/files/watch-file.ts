// Tells when a file is another one, however it was written: in place, by an editor, renamed over, or by a link that was
// moved (Kubernetes). Its directory is watched, and looked at every few seconds where that is not told of.
import { statSync, watch, type FSWatcher } from 'node:fs';
import { dirname } from 'node:path';

export interface FileWatchOptions {
  onChange: () => void;
  /** Every so often it is looked at whatever was told. */
  pollMs?: number;
  /** So long nothing more is written before it counts as changed. */
  settleMs?: number;
}

const defaults = { pollMs: 3_000, settleMs: 200 };

/** What was written since this process began counts as a change: it may have been read before. */
export function watchFile(path: string, options: FileWatchOptions): { close(): void } {
  const { onChange, pollMs, settleMs } = { ...defaults, ...options };
  let known = fingerprint(path, performance.timeOrigin);
  let seen = known;
  let settled: NodeJS.Timeout | undefined;

  const settle = () => {
    settled = undefined;
    if (seen === known) return;
    known = seen;
    onChange();
  };
  const look = () => {
    const now = fingerprint(path);
    if (now === seen) return;
    seen = now;
    clearTimeout(settled);
    settled = setTimeout(settle, settleMs);
  };

  const watcher = watchDirectory(dirname(path), look);
  const timer = setInterval(look, pollMs);
  timer.unref();
  look();
  return {
    close() {
      clearTimeout(settled);
      clearInterval(timer);
      watcher?.close();
    },
  };
}

/** Undefined where the system cannot: the file is still looked at. */
function watchDirectory(directory: string, look: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(directory, { persistent: false }, look);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}

/** @param olderThan epoch ms; one that changed later has none. */
function fingerprint(path: string, olderThan = Infinity): string | undefined {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(path);
    return ctimeMs < olderThan ? `${ino} ${size} ${mtimeMs} ${ctimeMs}` : undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}
